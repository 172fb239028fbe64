package node

import (
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
)

func given(roles ...config.Role) []config.Section {
	return []config.Section{configtest.Plain("made", roles...)}
}
