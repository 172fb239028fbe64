package awskms

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"strings"
)

// FromEnvironment finds what the key does not say as every program with Amazon's library does: the region in AWS_REGION or the
// profile, the endpoint in AWS_ENDPOINT_URL_KMS and AWS_ENDPOINT_URL or the profile, and credentials as the package says. It reads the
// shared files, and connects to nothing. Its errors quote nothing of a file but the name of a profile and of a setting.
func FromEnvironment(key string, getenv func(string) string) (Config, error) {
	if err := ParseKey(key); err != nil {
		return Config{}, err
	}
	p, err := readProfile(getenv)
	if err != nil {
		return Config{}, err
	}
	at := place{
		region: cmp.Or(regionOf(key), getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"), p.settings["region"]),
		fips:   strings.EqualFold(cmp.Or(getenv("AWS_USE_FIPS_ENDPOINT"), p.settings["use_fips_endpoint"]), "true"),
		dual:   strings.EqualFold(cmp.Or(getenv("AWS_USE_DUALSTACK_ENDPOINT"), p.settings["use_dualstack_endpoint"]), "true"),
	}
	if !strings.EqualFold(cmp.Or(getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), p.settings["ignore_configured_endpoint_urls"]), "true") {
		at.configured = func(service string) string {
			return cmp.Or(getenv("AWS_ENDPOINT_URL_"+strings.ToUpper(service)), getenv("AWS_ENDPOINT_URL"), p.settings[service+".endpoint_url"], p.settings["endpoint_url"])
		}
	}
	at.caFile = cmp.Or(getenv("AWS_CA_BUNDLE"), p.settings["ca_bundle"])
	c := Config{Key: key, Region: at.region, CAFile: at.caFile}
	if c.Region == "" {
		return c, nil // Open says so
	}
	c.Endpoint = at.url("kms")
	c.Credentials, err = source(p, at, getenv)
	return c, err
}

// place is where Amazon's services are.
type place struct {
	region     string
	fips, dual bool
	caFile     string                      // optional
	configured func(service string) string // URL of a service, empty if it is Amazon's; optional
}

// partitions are the parts of Amazon's cloud that have names of their own, by how their regions begin.
var partitions = []struct{ regions, suffix, dual string }{
	{"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
	{"eusc-", "amazonaws.eu", "api.amazonwebservices.eu"},
	{"us-iso-", "c2s.ic.gov", "api.aws.ic.gov"},
	{"us-isob-", "sc2s.sgov.gov", "api.aws.scloud"},
	{"eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
	{"us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
	{"", "amazonaws.com", "api.aws"},
}

// url returns the URL of a service, "kms" or "sts".
func (p place) url(service string) string {
	if p.configured != nil && p.configured(service) != "" {
		return p.configured(service)
	}
	host := service
	if p.fips && (service != "sts" || !strings.HasPrefix(p.region, "us-gov-")) { // what is there has no other name
		host += "-fips"
	}
	for _, part := range partitions {
		if !strings.HasPrefix(p.region, part.regions) {
			continue
		}
		if p.dual {
			return "https://" + host + "." + p.region + "." + part.dual
		}
		return "https://" + host + "." + p.region + "." + part.suffix
	}
	return "" // the last part has every region
}

// profile is what the shared files say of one.
type profile struct {
	settings map[string]string
	missing  bool // it is named, and no file has it
}

// readProfile reads the profile AWS_PROFILE, "default" if there is none, from the files of credentials and of configuration. What
// both have, the first says.
func readProfile(getenv func(string) string) (profile, error) {
	named := cmp.Or(getenv("AWS_PROFILE"), getenv("AWS_DEFAULT_PROFILE"))
	name, p := cmp.Or(named, "default"), profile{settings: map[string]string{}}
	home := cmp.Or(getenv("HOME"), getenv("USERPROFILE"))
	config, err := readSections(getenv("AWS_CONFIG_FILE"), home, "config")
	if err != nil {
		return p, err
	}
	credentials, err := readSections(getenv("AWS_SHARED_CREDENTIALS_FILE"), home, "credentials")
	if err != nil {
		return p, err
	}
	section := "profile " + name
	if name == "default" && config[section] == nil {
		section = "default"
	}
	p.missing = named != "" && config[section] == nil && credentials[name] == nil
	for _, from := range []map[string]string{config["services "+config[section]["services"]], config[section], credentials[name]} {
		maps.Copy(p.settings, from)
	}
	return p, nil
}

// readSections reads a file, which may be missing: that of the folder .aws unless another is named.
func readSections(file, home, name string) (map[string]map[string]string, error) {
	if file == "" && home == "" {
		return nil, nil
	}
	text, err := readFile(cmp.Or(file, filepath.Join(home, ".aws", name)))
	if err != nil {
		return nil, errors.New("the file of AWS for " + name + " cannot be read: let this process read it, or correct AWS_CONFIG_FILE or AWS_SHARED_CREDENTIALS_FILE")
	}
	return sections(text), nil
}

// sections reads the settings of each section. What is indented below a setting without a value is "setting.name".
func sections(text string) map[string]map[string]string {
	all, of, above := map[string]map[string]string{}, map[string]string{}, ""
	for line := range strings.Lines(text) {
		key, value, is := strings.Cut(bare(line), "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch title, titled := strings.CutPrefix(bare(line), "["); {
		case titled:
			title, _, _ = strings.Cut(title, "]")
			title = strings.Join(strings.Fields(title), " ")
			if all[title] == nil {
				all[title] = map[string]string{}
			}
			of, above = all[title], ""
		case !is || key == "":
		case above != "" && strings.ContainsAny(line[:1], " \t"):
			of[above+"."+key] = value
		default:
			of[key], above = value, ""
			if value == "" {
				above = key
			}
		}
	}
	return all
}

// bare is a line without a comment: it begins the line, or follows a space.
func bare(line string) string {
	line = " " + strings.TrimSpace(line)
	for _, mark := range []string{" #", " ;", "\t#", "\t;"} {
		line, _, _ = strings.Cut(line, mark)
	}
	return strings.TrimSpace(line)
}
