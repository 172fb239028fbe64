package cli

import (
	"context"
	"io"
	"log" //nolint:depguard // its writer alone: what libraries log must wait for no reader
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/spool"
)

// lastWords is how long the end of a lasting command waits for the reader of its log.
const lastWords = time.Second

const lasts = "lasts"

// lasting marks a command that leads, or keeps what leads: no reader of its log ends it or holds it up. Any other
// command ends with its reader, as in conch status | head -1.
func lasting(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{lasts: ""}
	return cmd
}

// logTo makes the log. made makes its handler for a writer.
func (a *app) logTo(made func(io.Writer) slog.Handler, lasting bool) {
	if lasting {
		// Caught, and not ignored, which the command of a run would inherit. Otherwise Go ends a process that writes to
		// a stderr without a reader, even one that was started with SIGPIPE ignored.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		direct := made(a.Stderr)
		a.spool = spool.New(a.Stderr, func(lost int) error {
			r := slog.NewRecord(time.Now(), slog.LevelWarn, "lines of the log are missing here: nobody read them, or they could not be written", 0)
			r.AddAttrs(slog.Int("lines", lost))
			return direct.Handle(context.Background(), r)
		})
		a.words = a.spool
		log.SetOutput(a.words) // of libraries
	}
	a.Log = slog.New(made(a.words))
}
