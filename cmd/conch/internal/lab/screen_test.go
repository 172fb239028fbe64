package lab

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
)

// What a screen tells a terminal gets there as it is, past the outlet of the command, which makes all else inert: a line that is replaced
// is cleared, and no escape is shown as text.
func TestAStatusReachesTheTerminal(t *testing.T) {
	t.Parallel()
	show := func(s *cli.Shell) []*cobra.Command {
		return []*cobra.Command{{Use: "show", RunE: cli.Does(func(context.Context) error {
			v := screen.New(screen.Config{Out: s.Stdout, Terminal: true})
			v.Status("waiting")
			v.Note("done")
			return nil
		})}}
	}
	var out bytes.Buffer
	world := cli.World{Stdin: strings.NewReader(""), Stdout: &out, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	if code := cli.Main([]string{"show"}, world, cli.Program{Name: "conch-lab", Commands: []cli.Commands{show}}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if text := out.String(); !strings.Contains(text, "waiting …"+screen.ClearLine) || strings.Contains(text, `\u001b`) || !strings.HasSuffix(text, "done\n") {
		t.Errorf("printed %q, want a status that is cleared, and the note", text)
	}
}
