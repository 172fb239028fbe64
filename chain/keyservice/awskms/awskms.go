package awskms

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/conchhq/conch/chain/keyservice"
	"github.com/conchhq/conch/chain/keyservice/internal/rest"
	"github.com/conchhq/conch/internal/pattern"
)

// Config says which key, and with which credentials signatures are asked for. Key and Credentials are required; FromEnvironment makes one.
type Config struct {
	Key         string                  // ID, alias or ARN of a key, or ARN of an alias
	Region      string                  // default: that of an ARN
	Endpoint    string                  // URL of the service; default Amazon's in the region
	Credentials aws.CredentialsProvider // asked with each request, so that it should keep what it finds
	CAFile      string                  // certificates to verify the service by instead of the system's; optional
}

var (
	keyForm    = pattern.Of(`^(arn:[a-z0-9-]+:kms:[a-z0-9-]+:[0-9]{12}:(key/[a-zA-Z0-9-]+|alias/[a-zA-Z0-9/_-]+)|alias/[a-zA-Z0-9/_-]+|(mrk-)?[0-9a-f-]{32,36})$`)
	regionForm = pattern.Of(`^[a-z0-9-]+$`)
)

// ParseKey returns an error unless the text names a key of AWS KMS.
func ParseKey(key string) error {
	if !keyForm().MatchString(key) {
		return errors.New("name a key by its ARN, its ID or an alias, such as awskms:arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab or awskms:alias/payouts")
	}
	return nil
}

// regionOf returns the region of an ARN, empty if the key is none.
func regionOf(key string) string {
	if parts := strings.Split(key, ":"); len(parts) == 6 {
		return parts[3]
	}
	return ""
}

type service = rest.Service

// Service is a key in AWS KMS. It is safe for concurrent use.
type Service struct {
	service
	at, key, region string
	credentials     aws.CredentialsProvider
	signer          *v4.Signer
	ahead           atomic.Int64 // nanoseconds by which the service's clock is ahead, once it has refused a request for its time
}

// Open returns the service. It connects to nothing.
func Open(c Config) (*Service, error) {
	if err := ParseKey(c.Key); err != nil {
		return nil, err
	}
	c.Region = cmp.Or(c.Region, regionOf(c.Key))
	switch {
	case c.Region == "":
		return nil, errors.New("the region of " + c.Key + " is not known: set AWS_REGION, or name the key by its ARN")
	case !regionForm().MatchString(c.Region):
		return nil, errors.New("the region of " + c.Key + " is none, such as eu-central-1: correct AWS_REGION")
	case c.Credentials == nil:
		return nil, errors.New("nobody has credentials for " + c.Key)
	}
	at, good := rest.Address(cmp.Or(c.Endpoint, place{region: c.Region}.url("kms")))
	if !good {
		return nil, errors.New("the endpoint of AWS KMS is not a URL such as http://127.0.0.1:4566: correct AWS_ENDPOINT_URL_KMS")
	}
	client, err := rest.Client(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("the CA file of AWS: %w", err)
	}
	s := &Service{at: at.JoinPath("/").String(), key: c.Key, region: c.Region, credentials: c.Credentials, signer: v4.NewSigner()}
	s.service = service{Shown: "AWS KMS, key " + c.Key, Client: client, Authorize: s.authorize, Judge: s.judge}
	return s, nil
}

// PublicKey returns the public key, in DER.
func (s *Service) PublicKey(ctx context.Context) ([]byte, error) {
	var key struct{ PublicKey []byte }
	err := s.ask(ctx, "GetPublicKey", map[string]any{"KeyId": s.key}, &key)
	return key.PublicKey, err
}

// SignHash returns a signature of a hash, in DER.
func (s *Service) SignHash(ctx context.Context, hash [32]byte) ([]byte, error) {
	var signed struct{ Signature []byte }
	err := s.ask(ctx, "Sign", map[string]any{"KeyId": s.key, "Message": hash[:], "MessageType": "DIGEST", "SigningAlgorithm": "ECDSA_SHA_256"}, &signed)
	return signed.Signature, err
}

func (s *Service) ask(ctx context.Context, operation string, body, to any) error {
	return s.Ask(ctx, http.MethodPost, s.at, http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {"TrentService." + operation}}, body, to)
}

// authorize signs a request (Signature Version 4).
func (s *Service) authorize(r *http.Request, body []byte) error {
	ctx := r.Context()
	by, err := s.credentials.Retrieve(ctx)
	if err != nil {
		return s.without(ctx, err)
	}
	sum := sha256.Sum256(body)
	now := time.Now().Add(time.Duration(s.ahead.Load()))
	if err := s.signer.SignHTTP(ctx, by, r, hex.EncodeToString(sum[:]), "kms", s.region, now); err != nil {
		return s.Fault(keyservice.Refused, "the request cannot be signed")
	}
	return nil
}

// without is the fault of having no credentials. It quotes nothing of err but what this package says, since it may have a file.
func (s *Service) without(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return keyservice.Of(s.Shown, ctx.Err())
	}
	if said, is := errors.AsType[*sourceError](err); is {
		return s.Fault(said.kind, said.Error())
	}
	return s.Fault(keyservice.Denied, "no credentials are found")
}

var kinds = map[string]keyservice.Kind{
	"AccessDeniedException":           keyservice.Denied,
	"UnrecognizedClientException":     keyservice.Denied,
	"InvalidClientTokenId":            keyservice.Denied,
	"InvalidSignatureException":       keyservice.Denied,
	"IncompleteSignatureException":    keyservice.Denied,
	"IncompleteSignature":             keyservice.Denied,
	"MissingAuthenticationToken":      keyservice.Denied,
	"ExpiredTokenException":           keyservice.Denied,
	"ExpiredToken":                    keyservice.Denied,
	"NotAuthorized":                   keyservice.Denied,
	"OptInRequired":                   keyservice.Denied,
	"DisabledException":               keyservice.Disabled,
	"KMSInvalidStateException":        keyservice.Disabled, // pending deletion is one of its states
	"NotFoundException":               keyservice.Missing,
	"InvalidArnException":             keyservice.Missing,
	"InvalidKeyUsageException":        keyservice.Unfit,
	"UnsupportedOperationException":   keyservice.Unfit,
	"KeyUnavailableException":         keyservice.Away,
	"DependencyTimeoutException":      keyservice.Away,
	"KMSInternalException":            keyservice.Away,
	"XksProxyUriUnreachableException": keyservice.Away,
}

// judge reads an answer without success. It has credentials looked for again that the service does not know, and learns what the
// service's clock shows when it refuses a signature, which is good for five minutes.
func (s *Service) judge(a rest.Answer) (keyservice.Kind, string) {
	code := codeOf(a)
	switch code {
	case "ExpiredTokenException", "ExpiredToken", "UnrecognizedClientException", "InvalidClientTokenId":
		if kept, is := s.credentials.(*aws.CredentialsCache); is {
			kept.Invalidate()
		}
	case "InvalidSignatureException":
		if there, err := http.ParseTime(a.Header.Get("Date")); err == nil {
			s.ahead.Store(int64(time.Until(there)))
		}
	}
	kind, shown := a.Kind(kinds, code)
	if _, throttles := retry.DefaultThrottleErrorCodes[code]; throttles {
		kind = keyservice.Throttled
	}
	return kind, shown
}

// codeOf returns the code of an answer: the last part of com.amazonaws.kms#NotFoundException:http://….
func codeOf(a rest.Answer) string {
	var said struct {
		Type string `json:"__type"`
	}
	_ = json.Unmarshal(a.Body, &said)
	code, _, _ := strings.Cut(cmp.Or(a.Header.Get("X-Amzn-ErrorType"), said.Type), ":")
	return code[strings.LastIndexByte(code, '#')+1:]
}
