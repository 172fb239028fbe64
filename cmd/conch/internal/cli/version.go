package cli

import (
	"cmp"
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/election/pgmint"
)

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "the program's version, commit, and the schema versions it works with",
		Example: "  " + a.program.Name + " version\n  " + a.program.Name + " version --json",
		Args:    NoArguments,
		RunE: Does(func(context.Context) error {
			v := struct {
				Version string `json:"version"`
				Commit  string `json:"commit,omitempty"`
				Schema  struct {
					Min int `json:"min"`
					Max int `json:"max"`
				} `json:"schema"`
				Go string `json:"go"`
			}{Version: a.Build.Version, Commit: a.Build.Commit, Go: runtime.Version()}
			v.Schema.Min, v.Schema.Max = pgmint.Tables.Oldest, pgmint.Tables.Newest()
			if a.JSON {
				return a.Document(v)
			}
			commit := ""
			if v.Commit != "" {
				commit = " commit " + v.Commit + ","
			}
			return a.Line("%s %s,%s schema %d to %d, %s", a.program.Name, v.Version, commit, v.Schema.Min, v.Schema.Max, v.Go)
		}),
	}
}

// recorded fills in what the linker did not stamp from what the go command recorded: go install has the version of a
// module, and a build in a clone has the commit. Of what nobody knows nothing is said.
func (b Build) recorded(info *debug.BuildInfo) Build {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && b.Commit == "" {
			b.Commit = s.Value
		}
	}
	b.Version = cmp.Or(b.Version, info.Main.Version)
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = "devel"
	}
	return b
}
