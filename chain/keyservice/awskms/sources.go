package awskms

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"github.com/conchhq/conch/chain/keyservice"
	"github.com/conchhq/conch/chain/keyservice/internal/rest"
	"github.com/conchhq/conch/internal/secretfile"
)

const (
	early    = 5 * time.Minute  // so long before their end credentials are renewed
	patience = 10 * time.Second // of one question
)

// sourceError is why a source gave no credentials, without a secret.
type sourceError struct {
	kind  keyservice.Kind
	said  string
	cause error
}

func (e *sourceError) Error() string { return e.said }
func (e *sourceError) Unwrap() error { return e.cause }

// source returns where credentials come from: the first of the environment's keys, a web identity, the profile, the container, and
// the instance.
func source(p profile, at place, getenv func(string) string) (*aws.CredentialsCache, error) {
	if id, secret := getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY"); id != "" && secret != "" {
		return aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider(id, secret, getenv("AWS_SESSION_TOKEN"))), nil
	}
	if file := getenv("AWS_WEB_IDENTITY_TOKEN_FILE"); file != "" {
		return assume(at, file, getenv("AWS_ROLE_ARN"), getenv("AWS_ROLE_SESSION_NAME"))
	}
	if found, err := p.source(at, getenv); found != nil || err != nil {
		return found, err
	}
	if path, full := getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"), getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"); path != "" || full != "" {
		return container(path, full, getenv)
	}
	return instance(getenv), nil
}

// foreign are settings of profiles whose credentials only Amazon's own program gets.
var foreign = []string{"source_profile", "credential_source", "role_arn", "sso_session", "sso_start_url", "login_session"}

// source returns the credentials of a profile, nil if it has none.
func (p profile) source(at place, getenv func(string) string) (*aws.CredentialsCache, error) {
	of := p.settings
	if p.missing {
		return nil, errors.New("neither file of AWS has the profile that AWS_PROFILE names: correct it, or AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE")
	}
	if file := of["web_identity_token_file"]; file != "" {
		return assume(at, file, of["role_arn"], of["role_session_name"])
	}
	keys := of["aws_access_key_id"] != "" && of["aws_secret_access_key"] != ""
	for _, setting := range foreign {
		if of[setting] == "" || keys && (strings.HasPrefix(setting, "sso_") || setting == "login_session") { // keys come first
			continue
		}
		return nil, errors.New("the profile that is in use has " + setting + ", of which conch makes no credentials: set AWS_PROFILE to another one that has " +
			"credential_process = aws configure export-credentials --profile NAME --format process, or export keys with aws configure export-credentials")
	}
	switch command := of["credential_process"]; {
	case keys:
		return aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			now, err := readProfile(getenv) // again once they are refused: another may have changed the file
			if err != nil {
				return aws.Credentials{}, &sourceError{keyservice.Denied, "the files of AWS cannot be read", err}
			}
			of := now.settings
			return aws.Credentials{AccessKeyID: of["aws_access_key_id"], SecretAccessKey: of["aws_secret_access_key"], SessionToken: of["aws_session_token"]}, nil
		})), nil
	case command != "":
		return keep(processcreds.NewProvider(command), "credential_process gives no credentials"), nil
	}
	return nil, nil
}

// container returns the credentials of a task or a pod. Its token is sent without encryption only where it does not leave the machine.
func container(path, full string, getenv func(string) string) (*aws.CredentialsCache, error) {
	if path != "" {
		full = "http://169.254.170.2" + path
	}
	at, good := rest.Address(full)
	if !good || at.Scheme == "http" && !near(at.Hostname()) {
		return nil, errors.New("AWS_CONTAINER_CREDENTIALS_FULL_URI is no URL that begins with https:// or names this machine or the agent of ECS or EKS: correct it")
	}
	return keep(endpointcreds.New(full, func(o *endpointcreds.Options) {
		o.HTTPClient = &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy
		o.AuthorizationToken = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
		if file := getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
			o.AuthorizationTokenProvider = endpointcreds.TokenProviderFunc(func() (string, error) { return readToken(file) })
		}
	}), "the container's endpoint gives no credentials"), nil
}

// near reports whether a host is this machine, or the agent of ECS or EKS.
func near(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && (ip.IsLoopback() || ip.Equal(net.IPv4(169, 254, 170, 2)) || ip.Equal(net.IPv4(169, 254, 170, 23)) || ip.Equal(net.ParseIP("fd00:ec2::23")))
}

// instance returns the credentials of the role of this virtual machine. The library goes on with the last ones while there are no others.
func instance(getenv func(string) string) *aws.CredentialsCache {
	o := imds.Options{Endpoint: getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), EnableFallback: aws.FalseTernary}
	if strings.EqualFold(getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"), "IPv6") {
		o.EndpointMode = imds.EndpointModeStateIPv6
	}
	if strings.EqualFold(getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		o.ClientEnableState = imds.ClientDisabled
	}
	return aws.NewCredentialsCache(ec2rolecreds.New(func(r *ec2rolecreds.Options) { r.Client = imds.New(o) }), renewed)
}

func renewed(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = early }

// keep keeps credentials until shortly before their end.
func keep(from aws.CredentialsProvider, fails string) *aws.CredentialsCache {
	return aws.NewCredentialsCache(renewing{from, fails}, renewed)
}

type renewing struct {
	from  aws.CredentialsProvider
	fails string
}

// Retrieve implements aws.CredentialsProvider.
func (r renewing) Retrieve(ctx context.Context) (aws.Credentials, error) {
	found, err := r.from.Retrieve(ctx)
	if _, said := errors.AsType[*sourceError](err); err != nil && !said {
		err = &sourceError{keyservice.Denied, r.fails, err}
	}
	return found, err
}

// HandleFailToRefresh goes on with the last credentials, and looks again in a minute.
func (renewing) HandleFailToRefresh(_ context.Context, last aws.Credentials, err error) (aws.Credentials, error) {
	if !last.HasKeys() {
		return last, err
	}
	last.Expires = time.Now().Add(early + time.Minute)
	return last, nil
}

// assume returns the credentials of a role that is assumed by a token in a file, which changes.
func assume(at place, file, role, session string) (*aws.CredentialsCache, error) {
	if role == "" {
		return nil, errors.New("a web identity needs a role: set AWS_ROLE_ARN, or role_arn in the profile")
	}
	to, good := rest.Address(at.url("sts"))
	if !good {
		return nil, errors.New("the endpoint of AWS STS is not a URL: correct AWS_ENDPOINT_URL_STS")
	}
	client, err := rest.Client(at.caFile)
	if err != nil {
		return nil, fmt.Errorf("the CA file of AWS: %w", err)
	}
	ask := rest.Service{Client: client}
	return keep(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		defer ask.Close() // the next time is in an hour
		token, err := readToken(file)
		if err != nil {
			return aws.Credentials{}, &sourceError{keyservice.Denied, "the file of the web identity cannot be read", err}
		}
		form := url.Values{
			"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {role}, "RoleSessionName": {cmp.Or(session, "conch")}, "WebIdentityToken": {token},
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.JoinPath("/").String(), strings.NewReader(form.Encode()))
		if err != nil {
			return aws.Credentials{}, err
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
		answer, err := ask.Send(r)
		if err != nil {
			return aws.Credentials{}, &sourceError{keyservice.Away, "AWS STS does not answer", err}
		}
		return readAssumed(answer)
	}), "no role is assumed"), nil
}

// readAssumed reads an answer of AWS STS, in XML.
func readAssumed(a rest.Answer) (aws.Credentials, error) {
	if a.Status != http.StatusOK {
		var said struct {
			Code string `xml:"Error>Code"`
		}
		_ = xml.Unmarshal(a.Body, &said)
		kind := keyservice.OfStatus(a.Status)
		if said.Code == "Throttling" {
			kind = keyservice.Throttled
		} else if kind != keyservice.Away && kind != keyservice.Throttled {
			kind = keyservice.Denied
		}
		return aws.Credentials{}, &sourceError{kind: kind, said: "AWS STS lets it assume no role: " + cmp.Or(keyservice.Code(said.Code), http.StatusText(a.Status))}
	}
	var got struct {
		Credentials struct {
			AccessKeyId, SecretAccessKey, SessionToken string //nolint:staticcheck // as Amazon writes them
			Expiration                                 time.Time
		} `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	}
	if c := &got.Credentials; xml.Unmarshal(a.Body, &got) == nil && c.AccessKeyId != "" && c.SecretAccessKey != "" {
		return aws.Credentials{AccessKeyID: c.AccessKeyId, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken, CanExpire: true, Expires: c.Expiration}, nil
	}
	return aws.Credentials{}, &sourceError{kind: keyservice.Refused, said: "the answer of AWS STS cannot be read"}
}

// readToken reads a token, which others may be able to read: it is projected into a container.
func readToken(file string) (string, error) {
	text, err := readFile(file)
	if text = strings.TrimSpace(text); err == nil && text == "" {
		err = errors.New("it is empty")
	}
	return text, err
}

// readFile returns the text of a file, which may be missing.
func readFile(file string) (string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(secretfile.Text(text)), err
}
