module github.com/conchhq/conch/chain/keyservice/awskms

go 1.26.0

require (
	github.com/aws/aws-sdk-go-v2 v1.48.0
	github.com/aws/aws-sdk-go-v2/credentials v1.21.0
	github.com/aws/aws-sdk-go-v2/feature/ec2/imds v1.20.9
	github.com/conchhq/conch v0.0.0
	go.uber.org/goleak v1.3.0
)

require github.com/aws/smithy-go v1.28.9 // indirect

replace github.com/conchhq/conch => ../../..
