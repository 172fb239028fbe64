package keeper

import (
	"os"
	"os/signal"
	"slices"
)

// Heeded returns those of the signals that this process was not started to ignore, as nohup has a program ignore SIGHUP,
// and a shell without job control SIGINT in what it starts in the background. What is ignored must not be caught: it
// stays ignored here, and in the command, which inherits that. Go shows it for these two signals only.
func Heeded(all ...os.Signal) []os.Signal {
	return slices.DeleteFunc(slices.Clone(all), signal.Ignored)
}
