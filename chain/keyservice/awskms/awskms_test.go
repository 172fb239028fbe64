package awskms_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"go.uber.org/goleak"

	"github.com/conchhq/conch/chain/keyservice"
	"github.com/conchhq/conch/chain/keyservice/awskms"
	"github.com/conchhq/conch/chain/keyservice/keyservicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestExercise(t *testing.T) {
	t.Parallel()
	keyservicetest.Exercise(t, keyservicetest.AWS, func(t *testing.T, s *keyservicetest.StandIn) keyservicetest.Service {
		t.Helper()
		return by(t, s, keyservicetest.AccessKey, keyservicetest.SecretKey, keyservicetest.Session, "")
	})
}

// by opens a client with some credentials, which signs for a region.
func by(t *testing.T, s *keyservicetest.StandIn, id, secret, session, region string) *awskms.Service {
	t.Helper()
	c, err := awskms.Open(awskms.Config{Key: s.Name, Endpoint: s.URL, Region: region, Credentials: credentials.NewStaticCredentialsProvider(id, secret, session)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// start starts a stand-in whose signatures only the test understands.
func start(t *testing.T) *keyservicetest.StandIn {
	t.Helper()
	return keyservicetest.Start(t, keyservicetest.AWS, keyservicetest.Key{Public: []byte("p"), Sign: func(hash []byte) []byte { return hash }})
}

// A service takes no request whose signature is not right: of another key, for another region.
func TestSignaturesOfRequests(t *testing.T) {
	t.Parallel()
	const id, secret, session = keyservicetest.AccessKey, keyservicetest.SecretKey, keyservicetest.Session
	for name, one := range map[string]struct {
		id, secret, session, region string
		good                        bool
	}{
		"good":           {id, secret, session, "", true},
		"another secret": {id, secret + "x", session, "", false},
		"another key":    {id + "x", secret, session, "", false},
		"another token":  {id, secret, session + "x", "", false},
		"another region": {id, secret, session, "eu-west-1", false},
	} {
		s := start(t)
		_, err := by(t, s, one.id, one.secret, one.session, one.region).SignHash(t.Context(), [32]byte{})
		if kind, is := keyservice.KindOf(err); (err == nil) != one.good || is && kind != keyservice.Denied || len(s.Complaints()) > 0 == one.good {
			t.Errorf("%s: got %v, want good: %v; the stand-in complains %q", name, err, one.good, s.Complaints())
		}
	}
}

// A clock that is wrong by more than five minutes costs one refusal.
func TestAClockThatIsWrong(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.SetAhead(1 << 43) // over two hours
	c := by(t, s, keyservicetest.AccessKey, keyservicetest.SecretKey, keyservicetest.Session, "")
	if _, err := c.SignHash(t.Context(), [32]byte{}); err == nil {
		t.Error("a request of another time was taken")
	}
	if _, err := c.SignHash(t.Context(), [32]byte{}); err != nil {
		t.Errorf("once it knows the service's time: %v", err)
	}
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
