package disk

import _ "go.etcd.io/bbolt"
