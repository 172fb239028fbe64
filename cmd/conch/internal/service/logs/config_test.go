package logs

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
)

const (
	base = "[node]\ndata_dir = \"/var/lib/conch\"\n[identity]\nname = \"n1\"\nlisten = \"10.0.0.1:7443\"\nkey = \"/etc/conch/identity.pem\"\n[gossip]\n" +
		"[[peers]]\nname = \"n2\"\nurl = \"https://10.0.0.2:7443\"\nca = \"ca.pem\"\n"
	table = "[[logs]]\nnamespace = \"flags\"\n"
	anID  = "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"
)

// Each key of [[logs]] has its effect; what is left out has its default.
func TestEveryKey(t *testing.T) {
	t.Parallel()
	s, c, err := load(t, base+table+"id = \""+anID+"\"\nstore = \"/srv/flags\"\nmachine = \"kv\"\npeers = [\"n1\", \"n2\"]\ngoal_timeout = \"10s\"\n[[logs]]\nnamespace = \"routes\"\n")
	if err != nil {
		t.Fatal(err)
	}
	flags, routes := &s.all[0], &s.all[1]
	if flags.ID.String() != anID || flags.Store != "/srv/flags" || !slices.Equal(flags.Peers, []string{"n1", "n2"}) || flags.Timeout != 10*time.Second {
		t.Errorf("got %+v", flags)
	}
	if !routes.ID.IsZero() || routes.Store != "/var/lib/conch/logs/routes.log" || routes.Peers != nil || routes.Machine != "kv" || routes.Timeout != 15*time.Second {
		t.Errorf("got %+v", routes)
	}
	if c.UsesDatabase() || !s.Everywhere() || len(s.Roles()) != 0 {
		t.Error("a log needs no database and is no role")
	}
	if topics := s.Topics(); !slices.Equal(topics, []string{"log/flags", "log/routes"}) {
		t.Errorf("the topics of its heads are %v", topics)
	}
	none, c, err := load(t, "[[roles]]\nname = \"a\"\n")
	if c.Database.URL = "x"; none.Everywhere() || len(none.all) != 0 {
		t.Errorf("there is a log without [[logs]]: %v", err)
	}
}

// Bad input: a fault of the configuration says what to write instead.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, says string }{
		{strings.Replace(base, "[gossip]\n", "", 1) + table, "[[logs]] needs [gossip]"},
		{base + "[[logs]]\n", "logs[0].namespace is missing"},
		{base + "[[logs]]\nnamespace = \"a b\"\n", `"a b" is no name`},
		{base + "[[logs]]\nnamespace = \"../x\"\n", `"../x" is no name`},
		{base + "[[logs]]\nnamespace = \"" + strings.Repeat("x", 61) + "\"\n", "is no name of 1 to 60 bytes"},
		{base + table + table, "is the name of another log already"},
		{base + table + "machine = \"sql\"\n", `"sql" is no state machine`},
		{base + table + "id = \"abc\"\n", "64 hexadecimal digits"},
		{base + table + "peers = [\"n7\"]\n", `"n7" is none of the [[peers]]`},
		{base + table + "peers = [\"n2\", \"n2\"]\n", `"n2" is there twice`},
		{base + table + "store = \"/srv/x\"\n[[logs]]\nnamespace = \"b\"\nstore = \"/srv/x\"\n", `is the store of "flags" already`},
		{strings.Replace(base, "data_dir = \"/var/lib/conch\"\n", "", 1) + table, "logs[0].store is missing"},
		{base + table + "bootstrap = true\n", "conch log create makes one"},
		{base + table + "policy = \"epoch\"\n", "is a key of [gossip]"},
		{base + table + "diameter = 4\n", "is a key of [gossip]"},
		{base + table + "delta_c = \"1s\"\ndelta_e = \"1s\"\ndelta_d = \"1s\"\n", "logs[0].delta_e is a key of [gossip]"},
		{base + table + "goal_timeout = \"900ms\"\n", "900ms is not from 1s to 15s"},
		{base + table + "goal_timeout = \"16s\"\n", "16s is not from 1s to 15s"},
		{base + table + "nonsense = 1\n", "nonsense"},
	} {
		_, _, err := load(t, c.text)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), ": ", " "), strings.ReplaceAll(c.says, ": ", " ")) {
			t.Errorf("%s\nhas the faults %v\nwant one with %q", strings.TrimPrefix(c.text, base), err, c.says)
		}
	}
}

// A reload cannot change a log: it names the keys that need a restart.
func TestRestarts(t *testing.T) {
	t.Parallel()
	began := loaded(t, base+table)
	for _, c := range []struct {
		text string
		want []string
	}{
		{base + table, nil},
		{base + table + "[[logs]]\nnamespace = \"b\"\n", []string{"logs"}},
		{base + "[[logs]]\nnamespace = \"b\"\n", []string{"logs[0].namespace", "logs[0].store"}},
		{base + table + "id = \"" + anID + "\"\npeers = []\ngoal_timeout = \"9s\"\n", []string{"logs[0].peers", "logs[0].id", "logs[0].goal_timeout"}},
	} {
		if got := new(Section).Restarts(began, loaded(t, c.text)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\nneeds a restart for %q, want %q", strings.TrimPrefix(c.text, base), got, c.want)
		}
	}
}

func loaded(t *testing.T, text string) config.Config {
	t.Helper()
	_, c, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The file in examples has no fault.
func TestTheExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "examples", "log.toml"))
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer("advertise = \"10.0.0.1:7443\"\n", "", "electors = [\"n1\", \"n2\", \"n3\"] # whom gossip suggests as the leader of the log: its members\n", "").Replace(string(text))
	c, err := configtest.Load(t, plain, config.Source{Sections: sections()}, nil)
	if s := config.Of[*Section](c); err != nil || len(s.all) != 1 || len(s.peers.Peers) != 2 {
		t.Errorf("%v, %+v", err, s)
	}
}
