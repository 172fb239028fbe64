package awskms

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"github.com/conchhq/conch/chain/keyservice"
)

// Config says which key. Key is required; what else is left out comes from the environment and the files of AWS.
type Config struct {
	Key         string                  // ID, alias or ARN of a key, or ARN of an alias
	Region      string                  // default: that of an ARN, else as the library finds it
	Endpoint    string                  // URL of the service
	Credentials aws.CredentialsProvider // who signs
}

var (
	keyForm = regexp.MustCompile(`^(arn:[a-z0-9-]+:kms:[a-z0-9-]+:[0-9]{12}:(key/[a-zA-Z0-9-]+|alias/[a-zA-Z0-9/_-]+)|alias/[a-zA-Z0-9/_-]+|(mrk-)?[0-9a-f-]{32,36})$`)
	atOnce  = 32 // connections that are kept: as many as there are signatures at once
)

// ParseKey returns an error unless the text names a key of AWS KMS.
func ParseKey(key string) error {
	if !keyForm.MatchString(key) {
		return errors.New("name a key by its ARN, its ID or an alias, such as awskms:arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab or awskms:alias/payouts")
	}
	return nil
}

// Service is a key in AWS KMS. It is safe for concurrent use.
type Service struct {
	key, shown  string
	client      *kms.Client
	credentials aws.CredentialsProvider
}

// Open returns the service. It reads files and the environment, and connects to nothing.
func Open(ctx context.Context, c Config) (*Service, error) {
	if err := ParseKey(c.Key); err != nil {
		return nil, err
	}
	if parts := strings.Split(c.Key, ":"); c.Region == "" && len(parts) == 6 {
		c.Region = parts[3]
	}
	client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = atOnce })
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(client), config.WithLogger(logging.Nop{}),
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }), // who signs says when it asks again
	}
	if c.Region != "" {
		options = append(options, config.WithRegion(c.Region))
	}
	if c.Credentials != nil {
		options = append(options, config.WithCredentialsProvider(c.Credentials))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, errors.New("the environment or the files of AWS cannot be read: compare AWS_PROFILE and AWS_CONFIG_FILE with them") // err may quote a file
	}
	if loaded.Region == "" {
		return nil, fmt.Errorf("the region of %s is not known: set AWS_REGION, or name the key by its ARN", c.Key)
	}
	s := &Service{key: c.Key, shown: "AWS KMS, key " + c.Key, credentials: loaded.Credentials}
	s.client = kms.NewFromConfig(loaded, func(o *kms.Options) {
		if c.Endpoint != "" {
			o.BaseEndpoint = &c.Endpoint
		}
	})
	return s, nil
}

// String names the key.
func (s *Service) String() string { return s.shown }

// Format writes String, for every verb: the client has the credentials.
func (s *Service) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.shown)) }

// PublicKey returns the public key, in DER.
func (s *Service) PublicKey(ctx context.Context) ([]byte, error) {
	if err := s.identify(ctx); err != nil {
		return nil, err
	}
	key, err := s.client.GetPublicKey(ctx, &kms.GetPublicKeyInput{KeyId: &s.key})
	if err != nil {
		return nil, s.fault(err)
	}
	return key.PublicKey, nil
}

// SignHash returns a signature of a hash, in DER.
func (s *Service) SignHash(ctx context.Context, hash [32]byte) ([]byte, error) {
	if err := s.identify(ctx); err != nil {
		return nil, err
	}
	signed, err := s.client.Sign(ctx, &kms.SignInput{
		KeyId: &s.key, Message: hash[:], MessageType: types.MessageTypeDigest, SigningAlgorithm: types.SigningAlgorithmSpecEcdsaSha256,
	})
	if err != nil {
		return nil, s.fault(err)
	}
	return signed.Signature, nil
}

// identify finds credentials, which the library keeps, since it says in no type that there are none.
func (s *Service) identify(ctx context.Context) error {
	_, err := s.credentials.Retrieve(ctx)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return keyservice.Of(s.shown, ctx.Err())
	}
	return &keyservice.FaultError{Kind: keyservice.Denied, Service: s.shown, Detail: "no credentials are found"}
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

func (s *Service) fault(err error) error {
	said, spoken := errors.AsType[smithy.APIError](err)
	response, answered := errors.AsType[*awshttp.ResponseError](err)
	if !answered || response.HTTPStatusCode() == 0 {
		return keyservice.Of(s.shown, err)
	}
	f := &keyservice.FaultError{Kind: keyservice.OfStatus(response.HTTPStatusCode()), Service: s.shown, Detail: fmt.Sprintf("HTTP %d", response.HTTPStatusCode())}
	if !spoken {
		return f
	}
	if code := keyservice.Code(said.ErrorCode()); code != "" {
		f.Detail = code
	}
	if kind, known := kinds[said.ErrorCode()]; known {
		f.Kind = kind
	} else if (retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}).IsErrorThrottle(err) == aws.TrueTernary {
		f.Kind = keyservice.Throttled
	}
	return f
}
