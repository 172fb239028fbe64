package majority

import "fmt"

// silent takes what the library says about its work: what matters is in outputs. What the library takes for impossible
// must not go on, so that it panics, which Step turns into ErrStopped.
type silent struct{}

func (silent) Debug(...any)            {}
func (silent) Debugf(string, ...any)   {}
func (silent) Info(...any)             {}
func (silent) Infof(string, ...any)    {}
func (silent) Warning(...any)          {}
func (silent) Warningf(string, ...any) {}
func (silent) Error(...any)            {}
func (silent) Errorf(string, ...any)   {}

func (silent) Fatal(v ...any)                 { stop(fmt.Sprint(v...)) }
func (silent) Fatalf(format string, v ...any) { stop(fmt.Sprintf(format, v...)) }
func (silent) Panic(v ...any)                 { stop(fmt.Sprint(v...)) }
func (silent) Panicf(format string, v ...any) { stop(fmt.Sprintf(format, v...)) }

func stop(why string) {
	panic(why) //nolint:forbidigo // the library goes on in a state that it takes for impossible if its logger returns
}
