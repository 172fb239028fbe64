package alerts

import (
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// Kind is the service of [[alerts]].
func Kind() node.Kind {
	return node.Kind{
		Section: func() config.Section { return new(Section) },
		Check:   check,
		Remark:  remark,
		Open:    func(node.Frame) node.Service { return node.Plain{} },
	}
}

// check refuses alerts as long as nobody evaluates them: one that never fires must not look configured.
func check(c config.Config, fault func(key string, err error)) {
	if s := config.Of[*Section](c); s != nil && len(s.own) > 0 {
		fault("alerts", errUnwired)
	}
}
