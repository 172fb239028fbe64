package quorum

import (
	_ "go.etcd.io/raft/v3"

	_ "github.com/conchhq/conch/txlog"
)
