package awskms_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/conchhq/conch/chain/keyservice/awskms"
	"github.com/conchhq/conch/chain/keyservice/keyservicetest"
)

func TestExercise(t *testing.T) {
	t.Parallel()
	keyservicetest.Exercise(t, keyservicetest.AWS, func(t *testing.T, s *keyservicetest.StandIn) keyservicetest.Service {
		t.Helper()
		c, err := awskms.Open(t.Context(), awskms.Config{
			Key: s.Name, Endpoint: s.URL,
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: keyservicetest.AccessKey, SecretAccessKey: keyservicetest.SecretKey, SessionToken: keyservicetest.Session}, nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	})
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	for key, good := range map[string]bool{
		"arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab":  true,
		"arn:aws-cn:kms:cn-north-1:111122223333:key/mrk-1234abcd12ab34cd56ef1234567890ab": true,
		"arn:aws:kms:eu-central-1:111122223333:alias/payouts/hot":                         true,
		"alias/payouts":                        true,
		"1234abcd-12ab-34cd-56ef-1234567890ab": true,
		"":                                     false,
		"payouts":                              false,
		"arn:aws:s3:::payouts":                 false,
		"alias/a b":                            false,
	} {
		if err := awskms.ParseKey(key); (err == nil) != good {
			t.Errorf("%q: got %v, want good: %v", key, err, good)
		}
	}
}
