package awskms_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/chain/keyservice"
	"github.com/conchhq/conch/chain/keyservice/awskms"
	"github.com/conchhq/conch/chain/keyservice/keyservicetest"
)

// issuer stands in for what gives credentials in the cloud: STS, the agent of a container, and the metadata of an instance.
type issuer struct {
	url string

	mu      sync.Mutex
	asked   int
	lasts   time.Duration // of what it gives; it fails if there is none
	session string
}

const identity, role, agents = "hunter2-web-identity", "arn:aws:iam::111122223333:role/payer", "hunter2-agent"

func startIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{lasts: time.Hour, session: keyservicetest.Session}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{$}", i.sts)
	mux.HandleFunc("GET /agent", func(w http.ResponseWriter, r *http.Request) { i.give(w, r.Header.Get("Authorization") == agents) })
	mux.HandleFunc("PUT /latest/api/token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
		_, _ = w.Write([]byte("v2"))
	})
	mux.HandleFunc("GET /latest/meta-data/iam/security-credentials/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("payer")) })
	mux.HandleFunc("GET /latest/meta-data/iam/security-credentials/payer", func(w http.ResponseWriter, r *http.Request) {
		i.give(w, r.Header.Get("X-Aws-Ec2-Metadata-Token") == "v2")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

func (i *issuer) set(lasts time.Duration, session string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lasts, i.session = lasts, session
}

func (i *issuer) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// next returns the session and the end of what is given now, false if it fails.
func (i *issuer) next() (session, end string, works bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked++
	return i.session, time.Now().Add(i.lasts).UTC().Format(time.RFC3339), i.lasts > 0
}

func (i *issuer) give(w http.ResponseWriter, known bool) {
	session, end, works := i.next()
	if !known || !works {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `{"code":"Nope","message":"hunter2 %v"}`, known)
		return
	}
	_, _ = fmt.Fprintf(w, `{"Code":"Success","AccessKeyId":%q,"SecretAccessKey":%q,"Token":%q,"Expiration":%q}`, keyservicetest.AccessKey, keyservicetest.SecretKey, session, end)
}

func (i *issuer) sts(w http.ResponseWriter, r *http.Request) {
	session, end, works := i.next()
	known := r.FormValue("Action") == "AssumeRoleWithWebIdentity" && r.FormValue("Version") == "2011-06-15" && r.FormValue("RoleArn") == role && r.FormValue("WebIdentityToken") == identity && r.FormValue("RoleSessionName") != ""
	if !known || !works {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>hunter2</Message></Error></ErrorResponse>`)
		return
	}
	_, _ = fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>
<AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration>
</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, keyservicetest.AccessKey, keyservicetest.SecretKey, session, end)
}

func written(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// opened opens the key of a stand-in by an environment.
func opened(t *testing.T, s *keyservicetest.StandIn, env map[string]string) (*awskms.Service, error) {
	t.Helper()
	c, err := awskms.FromEnvironment(s.Name, func(name string) string {
		if name == "AWS_ENDPOINT_URL_KMS" {
			return s.URL
		}
		return env[name]
	})
	if err != nil {
		return nil, err
	}
	service, err := awskms.Open(c)
	if err == nil {
		t.Cleanup(service.Close)
	}
	return service, err
}

var keysInFile = fmt.Sprintf("aws_access_key_id = %s\naws_secret_access_key=%s # of the account\naws_session_token = %s\n", keyservicetest.AccessKey, keyservicetest.SecretKey, keyservicetest.Session)

// sources are environments with credentials, those of an issuer where it is asked.
func sources(t *testing.T, i *issuer) map[string]map[string]string {
	t.Helper()
	token := written(t, identity+"\n")
	process := written(t, fmt.Sprintf(`{"Version":1,"AccessKeyId":%q,"SecretAccessKey":%q,"SessionToken":%q}`, keyservicetest.AccessKey, keyservicetest.SecretKey, keyservicetest.Session))
	return map[string]map[string]string{
		"web identity":      {"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": role, "AWS_ENDPOINT_URL_STS": i.url},
		"container":         {"AWS_CONTAINER_CREDENTIALS_FULL_URI": i.url + "/agent", "AWS_CONTAINER_AUTHORIZATION_TOKEN": agents},
		"pod":               {"AWS_CONTAINER_CREDENTIALS_FULL_URI": i.url + "/agent", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": written(t, agents)},
		"instance":          {"AWS_EC2_METADATA_SERVICE_ENDPOINT": i.url},
		"profile's web":     {"AWS_PROFILE": "p", "AWS_CONFIG_FILE": written(t, "[profile p]\nweb_identity_token_file="+token+"\nrole_arn="+role+"\n"), "AWS_ENDPOINT_URL_STS": i.url},
		"environment":       {"AWS_ACCESS_KEY_ID": keyservicetest.AccessKey, "AWS_SECRET_ACCESS_KEY": keyservicetest.SecretKey, "AWS_SESSION_TOKEN": keyservicetest.Session, "AWS_ROLE_ARN": role},
		"default profile":   {"AWS_SHARED_CREDENTIALS_FILE": written(t, "[other]\na=b\n\n[default]\n"+keysInFile)},
		"profile":           {"AWS_PROFILE": "pay roll", "AWS_SHARED_CREDENTIALS_FILE": written(t, "# mine\n[default]\naws_access_key_id=x\naws_secret_access_key=y\n[ pay  roll ]\r\n"+strings.ReplaceAll(keysInFile, "\n", "\r\n"))},
		"configuration":     {"AWS_PROFILE": "p", "AWS_CONFIG_FILE": written(t, "[default]\n[profile p]\n"+keysInFile+"sso_session = corp\n")},
		"process":           {"AWS_CONFIG_FILE": written(t, "[default]\ncredential_process = cat "+process+"\n")},
		"no such profile":   {"AWS_PROFILE": "missing", "AWS_ACCESS_KEY_ID": keyservicetest.AccessKey, "AWS_SECRET_ACCESS_KEY": keyservicetest.SecretKey, "AWS_SESSION_TOKEN": keyservicetest.Session},
		"keys before roles": {"AWS_ACCESS_KEY_ID": keyservicetest.AccessKey, "AWS_SECRET_ACCESS_KEY": keyservicetest.SecretKey, "AWS_SESSION_TOKEN": keyservicetest.Session, "AWS_WEB_IDENTITY_TOKEN_FILE": "/none"},
	}
}

// Every source of credentials that a service in the cloud has signs, and is asked once.
func TestSourcesOfCredentials(t *testing.T) {
	t.Parallel()
	for name := range sources(t, &issuer{}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, i := start(t), startIssuer(t)
			c, err := opened(t, s, sources(t, i)[name])
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := c.SignHash(t.Context(), [32]byte{}); err != nil {
					t.Errorf("%v; the stand-in complains %q", err, s.Complaints())
				}
			}
			if asked := i.count(); asked > 1 {
				t.Errorf("it was asked for credentials %d times, want once at most", asked)
			}
		})
	}
}

// issued are the sources whose credentials end.
var issued = []string{"web identity", "container", "instance"}

// Credentials are renewed before they end. While that fails, the last ones are used, and others are looked for no more than once a minute.
func TestCredentialsAreRenewed(t *testing.T) {
	t.Parallel()
	for _, name := range issued {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, i := start(t), startIssuer(t)
			i.set(4*time.Minute, keyservicetest.Session) // less than how long before the end they are renewed
			if name == "instance" {
				i.set(time.Millisecond, keyservicetest.Session) // of these the library keeps the last quarter of an hour
			}
			c, err := opened(t, s, sources(t, i)[name])
			if err != nil {
				t.Fatal(err)
			}
			sign := func(asked int) {
				t.Helper()
				if _, err := c.SignHash(t.Context(), [32]byte{}); err != nil {
					t.Error(err)
				}
				if got := i.count(); got != asked {
					t.Errorf("it was asked for credentials %d times, want %d", got, asked)
				}
			}
			sign(1)
			sign(2)
			i.set(0, "")
			sign(3)
			sign(3)
		})
	}
}

// Credentials that the service does not know any more are looked for again.
func TestCredentialsThatEnded(t *testing.T) {
	t.Parallel()
	for _, name := range issued {
		s, i := start(t), startIssuer(t)
		i.set(time.Hour, "of another time")
		c, err := opened(t, s, sources(t, i)[name])
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.SignHash(t.Context(), [32]byte{})
		if kind, _ := keyservice.KindOf(err); kind != keyservice.Denied {
			t.Errorf("%s: got %v, want that it is denied", name, err)
		}
		i.set(time.Hour, keyservicetest.Session)
		if _, err := c.SignHash(t.Context(), [32]byte{}); err != nil {
			t.Errorf("%s: after others are there: %v", name, err)
		}
	}
}

// A source that gives nothing is a fault that names it, and quotes nothing of what it says.
func TestSourcesThatGiveNothing(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		change map[string]string
		kind   keyservice.Kind
		says   string
	}{
		"web identity":  {nil, keyservice.Denied, "AWS STS lets it assume no role: AccessDenied"},
		"profile's web": {map[string]string{"AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1"}, keyservice.Away, "AWS STS does not answer"},
		"container":     {nil, keyservice.Denied, "the container's endpoint gives no credentials"},
		"pod":           {map[string]string{"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/none"}, keyservice.Denied, "the container's endpoint gives no credentials"},
		"instance":      {map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}, keyservice.Denied, "no credentials are found"},
		"process":       {map[string]string{"AWS_CONFIG_FILE": written(t, "[default]\ncredential_process = echo hunter2; exit 1\n")}, keyservice.Denied, "credential_process gives no credentials"},
	} {
		s, i := start(t), startIssuer(t)
		i.set(0, "")
		env := sources(t, i)[name]
		maps.Copy(env, one.change)
		c, err := opened(t, s, env)
		if err != nil {
			t.Fatal(name, err)
		}
		_, err = c.SignHash(t.Context(), [32]byte{})
		if kind, is := keyservice.KindOf(err); !is || kind != one.kind || !strings.Contains(err.Error(), one.says) || strings.Contains(err.Error(), "hunter2") || s.Calls() > 0 {
			t.Errorf("%s: got %v, want a fault of kind %d that says %q, and no call", name, err, one.kind, one.says)
		}
	}
}

// What is configured and not there, or not known, is told at once, with what to do.
func TestFaultsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	const secret = "\naws_secret_access_key = hunter2\n"
	for says, env := range map[string]map[string]string{
		"has sso_session, of which conch makes no credentials: set AWS_PROFILE to another one that has credential_process = aws configure export-credentials": {"AWS_CONFIG_FILE": written(t, "[default]\nsso_session = corp"+secret)},
		"has sso_start_url,":                       {"AWS_CONFIG_FILE": written(t, "[default]\nsso_start_url = https://x"+secret)},
		"has source_profile,":                      {"AWS_CONFIG_FILE": written(t, "[default]\nrole_arn = x\nsource_profile = y\naws_access_key_id = z"+secret)},
		"has role_arn,":                            {"AWS_CONFIG_FILE": written(t, "[default]\nrole_arn = x\n")},
		"has login_session,":                       {"AWS_CONFIG_FILE": written(t, "[default]\nlogin_session = x\n")},
		"neither file of AWS has the profile":      {"AWS_PROFILE": "missing", "AWS_CONFIG_FILE": written(t, "[default]"+secret)},
		"for config cannot be read":                {"AWS_CONFIG_FILE": t.TempDir()},
		"for credentials cannot be read":           {"AWS_SHARED_CREDENTIALS_FILE": t.TempDir()},
		"the CA file of AWS: ":                     {"AWS_CA_BUNDLE": "/none", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"},
		"needs a role: set AWS_ROLE_ARN":           {"AWS_WEB_IDENTITY_TOKEN_FILE": "x"},
		"AWS_CONTAINER_CREDENTIALS_FULL_URI is no": {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://93.184.216.34/x"},
	} {
		if _, err := opened(t, start(t), env); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v, want an error that says %q", err, says)
		}
	}
}

// Where a service is, as the library itself says for these regions.
func TestWhereServicesAre(t *testing.T) {
	t.Parallel()
	const key = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	const services = "[default]\nservices = local\nendpoint_url = http://a\nregion = eu-west-3\n[services local]\ns3 =\n  endpoint_url = http://s3\nkms = \n  endpoint_url = http://kms\nsts =\n  endpoint_url = http://sts\n"
	for name, one := range map[string]struct {
		key, region, endpoint string
		env                   map[string]string
	}{
		"ARN":         {key, "eu-central-1", "https://kms.eu-central-1.amazonaws.com", map[string]string{"AWS_REGION": "us-east-1"}},
		"environment": {"alias/a", "us-east-1", "https://kms.us-east-1.amazonaws.com", map[string]string{"AWS_REGION": "us-east-1", "AWS_CONFIG_FILE": written(t, "[default]\nregion = eu-west-3\n")}},
		"file":        {"alias/a", "eu-west-3", "https://kms.eu-west-3.amazonaws.com", map[string]string{"AWS_CONFIG_FILE": written(t, "[default]\nregion = eu-west-3\n")}},
		"services":    {"alias/a", "eu-west-3", "http://kms", map[string]string{"AWS_CONFIG_FILE": written(t, services)}},
		"ignored":     {"alias/a", "eu-west-3", "https://kms.eu-west-3.amazonaws.com", map[string]string{"AWS_CONFIG_FILE": written(t, services), "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}},
		"any service": {"alias/a", "eu-west-3", "http://b", map[string]string{"AWS_CONFIG_FILE": written(t, services), "AWS_ENDPOINT_URL": "http://b"}},
		"China":       {"alias/a", "cn-north-1", "https://kms.cn-north-1.amazonaws.com.cn", map[string]string{"AWS_DEFAULT_REGION": "cn-north-1"}},
		"Europe":      {"alias/a", "eusc-de-east-1", "https://kms.eusc-de-east-1.amazonaws.eu", map[string]string{"AWS_REGION": "eusc-de-east-1"}},
		"apart":       {"alias/a", "us-isob-east-1", "https://kms.us-isob-east-1.sc2s.sgov.gov", map[string]string{"AWS_REGION": "us-isob-east-1"}},
		"FIPS":        {"alias/a", "us-gov-west-1", "https://kms-fips.us-gov-west-1.amazonaws.com", map[string]string{"AWS_REGION": "us-gov-west-1", "AWS_USE_FIPS_ENDPOINT": "true"}},
		"dual":        {"alias/a", "us-west-2", "https://kms.us-west-2.api.aws", map[string]string{"AWS_REGION": "us-west-2", "AWS_USE_DUALSTACK_ENDPOINT": "true"}},
	} {
		c, err := awskms.FromEnvironment(one.key, func(name string) string { return one.env[name] })
		if err != nil || c.Region != one.region || c.Endpoint != one.endpoint {
			t.Errorf("%s: got %q in %q, %v, want %q in %q", name, c.Endpoint, c.Region, err, one.endpoint, one.region)
		}
	}
	for _, region := range []string{"", "eu.example.com/"} {
		c, err := awskms.FromEnvironment("alias/a", func(name string) string { return map[string]string{"AWS_REGION": region}[name] })
		if err == nil {
			_, err = awskms.Open(c)
		}
		if err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
			t.Errorf("region %q: got %v, want what to set", region, err)
		}
	}
}
