package story

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/conchhq/conch/internal/nearest"
)

// folder is where a world keeps its own stories.
const folder = "testdata/stories"

// Names lists the stories that a world brings along, and what they show.
func Names(stories fs.FS) (names, what []string) {
	files, _ := fs.Glob(stories, folder+"/*.txt")
	for _, file := range files {
		text, _ := fs.ReadFile(stories, file)
		names, what = append(names, strings.TrimSuffix(path.Base(file), ".txt")), append(what, title(string(text)))
	}
	return names, what
}

// title is the first sentence of the comment with which a story begins.
func title(text string) string {
	var comment []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		comment = append(comment, strings.TrimSpace(strings.TrimPrefix(line, "#")))
	}
	first, _, _ := strings.Cut(strings.Join(comment, " "), ". ")
	return strings.TrimSuffix(first, ".")
}

// Find reads a story: from a file, from in if its name is -, or one that a world brings along.
func Find(name string, stories fs.FS, in io.Reader) (Text, error) {
	if name == "-" {
		text, err := io.ReadAll(in)
		return Text{File: name, Text: string(text)}, err
	}
	if !strings.ContainsAny(name, "/.") {
		if text, err := fs.ReadFile(stories, folder+"/"+name+".txt"); err == nil {
			return Text{File: name, Text: string(text)}, nil
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		names, _ := Names(stories)
		if near := nearest.To(name, names); near != "" {
			return Text{}, fmt.Errorf("%w; is it the story %q?", err, near)
		}
		return Text{}, fmt.Errorf("%w; %q is none of the stories that are there either: %s", err, name, strings.Join(names, ", "))
	}
	return Text{File: name, Text: string(text)}, nil
}

// Help lists the stories in lines as long as those of a help text.
func Help(stories fs.FS) string {
	names, _ := Names(stories)
	var b strings.Builder
	at := 0
	for _, name := range names {
		if at == 0 || at+len(name) > 85 {
			if at > 0 {
				b.WriteString("\n")
			}
			b.WriteString(" ")
			at = 1
		}
		b.WriteString(" " + name)
		at += len(name) + 1
	}
	return b.String() + "\n"
}
