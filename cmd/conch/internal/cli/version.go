package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/election/pgmint"
)

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "the program's version, commit, and the schema versions it works with",
		Example: `  conch version
  conch version --json`,
		Args: NoArguments,
		RunE: Does(func(context.Context) error {
			v := struct {
				Version string `json:"version"`
				Commit  string `json:"commit"`
				Schema  struct {
					Min int `json:"min"`
					Max int `json:"max"`
				} `json:"schema"`
				Go string `json:"go"`
			}{Version: a.Build.Version, Commit: a.commit(), Go: runtime.Version()}
			v.Schema.Min, v.Schema.Max = pgmint.SchemaMin, pgmint.SchemaMax
			if a.JSON {
				return a.Document(v)
			}
			return a.Line("conch %s, commit %s, schema %d to %d, %s", v.Version, v.Commit, v.Schema.Min, v.Schema.Max, v.Go)
		}),
	}
}

// commit returns the commit that the linker stamped, else the one that the go command recorded.
func (a *app) commit() string {
	if a.Build.Commit != "" {
		return a.Build.Commit
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}
