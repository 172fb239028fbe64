package doctor

import (
	"fmt"

	"github.com/conchhq/conch/internal/name"
)

// names finds scopes, and candidates, that people take for each other: by a difference in case or in letters that look alike, or by
// something that nobody sees in one from before that was refused.
func names(f Facts) (found []Finding) {
	var ids []string
	for _, p := range f.Processes {
		ids = append(ids, p.ID)
	}
	for _, kind := range []struct {
		what   string
		all    []string
		remedy string
	}{
		{"scopes", f.scopes(), "if one of them is a mistake, correct it where it is configured, and run `conch scope forget` for it"},
		{"processes", ids, "give each a CONCH_INSTANCE_ID or --id that nobody takes for another's"},
	} {
		found = append(found, Alike(kind.what, kind.remedy, kind.all)...)
	}
	if len(found) == 0 {
		return ok("each can be told from the others")
	}
	return few(found, "%d more names could be taken for others")
}

// Alike finds the names of one kind, such as scopes, that people take for each other, or of which they do not see all.
func Alike(what, remedy string, all []string) (found []Finding) {
	shapes := map[string]string{}
	for _, text := range all {
		if why := name.Fault(text); why != "" {
			found = append(found, warn(fmt.Sprintf("%+q, of %s, %s", text, what, why), remedy)...)
		}
		shape := name.Shape(text)
		if first, is := shapes[shape]; is && first != text {
			found = append(found, warn(fmt.Sprintf("%+q and %+q look alike, and are the names of two %s", first, text, what), remedy)...)
		}
		shapes[shape] = text
	}
	return found
}
