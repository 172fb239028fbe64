package logs

import (
	"fmt"
	"reflect"

	"github.com/conchhq/conch/cmd/conch/internal/config"
)

// Restarts implements config.Fixed: a log is opened once.
func (*Section) Restarts(began, fresh config.Config) (keys []string) {
	was, is := config.Of[*Section](began), config.Of[*Section](fresh)
	if was == nil || is == nil {
		return nil
	}
	if len(was.all) != len(is.all) {
		return []string{was.Table()}
	}
	for i := range was.all {
		a, b := was.all[i], is.all[i]
		for _, k := range []struct {
			key     string
			was, is any
		}{
			{"namespace", a.Namespace, b.Namespace}, {"store", a.Store, b.Store}, {"machine", a.Machine, b.Machine},
			{"peers", a.Peers, b.Peers}, {"id", a.ID, b.ID}, {"goal_timeout", a.Timeout, b.Timeout},
		} {
			if !reflect.DeepEqual(k.was, k.is) {
				keys = append(keys, fmt.Sprintf("%s[%d].%s", was.Table(), i, k.key))
			}
		}
	}
	return keys
}
