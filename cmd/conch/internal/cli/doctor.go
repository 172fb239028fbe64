package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/pgfacts"
	"github.com/conchhq/conch/internal/pg"
)

// doctorPatience bounds all questions together: a doctor that hangs tells nothing.
const doctorPatience = 30 * time.Second

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "look for whatever would keep conch from leading, or from keeping its word",
		Long: `doctor looks at the database, at this machine and at the scopes, and says of each
thing that is not as it should be what to do about it. It changes nothing. Run it as
the role and from the machine that a node would use. It ends with 1 if a check fails.`,
		Example: `  conch doctor
  conch --db postgres://conch_node@db.example/app doctor --json`,
		Args: noArguments,
		RunE: does(func(ctx context.Context) error {
			cfg, err := a.configure()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, doctorPatience)
			defer cancel()
			facts, err := pgfacts.Gather(ctx, cfg)
			if err != nil && pg.SafeToRetry(err) && !a.names() {
				return errNoDatabase
			}
			return a.printFindings(doctor.Judge(facts))
		}),
	}
}

// printFindings also turns what failed into the exit code.
func (a *app) printFindings(all []doctor.Finding) error {
	var failed, rows []string
	for _, f := range all {
		if f.Status == doctor.Fail {
			failed = append(failed, f.Check)
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", f.Status, f.Check, f.Detail))
		if f.Remedy != "" {
			rows = append(rows, "\t\t→ "+f.Remedy)
		}
	}
	var err error
	if a.json {
		err = a.document(all)
	} else {
		err = a.table("STATUS\tCHECK\tDETAIL", rows)
	}
	if err == nil && len(failed) > 0 {
		err = fmt.Errorf("%d of %d findings must be mended: %s", len(failed), len(all), strings.Join(failed, ", "))
	}
	return err
}
