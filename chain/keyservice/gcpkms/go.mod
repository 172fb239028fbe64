module github.com/conchhq/conch/chain/keyservice/gcpkms

go 1.26.0

require (
	github.com/conchhq/conch v0.0.0
	golang.org/x/oauth2 v0.38.0
	golang.org/x/sync v0.23.0
)

require cloud.google.com/go/compute/metadata v0.3.0 // indirect

replace github.com/conchhq/conch => ../../..
