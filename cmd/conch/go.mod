module github.com/conchhq/conch/cmd/conch

go 1.26

require github.com/conchhq/conch v0.0.0

replace github.com/conchhq/conch => ../..
