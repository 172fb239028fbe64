module github.com/conchhq/conch/txlog/quorum

go 1.26.0

require (
	github.com/conchhq/conch v0.0.0
	go.etcd.io/bbolt v1.5.0
	go.etcd.io/raft/v3 v3.7.0
	go.uber.org/goleak v1.3.0
	google.golang.org/protobuf v1.36.12
)

require golang.org/x/sys v0.49.0

require github.com/anishathalye/porcupine v1.3.1 // indirect

replace github.com/conchhq/conch => ../..
