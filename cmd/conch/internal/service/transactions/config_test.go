package transactions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/endpoints"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

const (
	db      = "[database]\nurl = \"postgres://conch@db/app\"\n"
	mainnet = "[[chains]]\nname = \"main\"\nkind = \"evm\"\nurl = \"https://node.example/SECRET\"\nchain_id = 1\n"
	address = "0x6d2d50b5d17b86bf964d636751ed84b7b9fc8971"
	hooks   = "[[webhooks]]\nname = \"shop\"\nsecret_file = \"shop.secret\"\n"
	// payer starts at line 8 of a file that begins with db and mainnet.
	payer = "[[accounts]]\nname = \"payer\"\nchain = \"main\"\nkeystore = \"key.json\"\npassword_file = \"password\"\n"
	hot   = "[[accounts]]\nname = \"hot\"\nchain = \"main\"\nsigner = \"http://127.0.0.1:9000/SECRET\"\naddress = \"0x00000000000000000000000000000000000000AA\"\n"
)

// loadAccounts reads a configuration beside a keystore.
func loadAccounts(t *testing.T, text, kept string) (config.Config, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"conch.toml": text, "key.json": kept} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config.Load(config.Source{Path: filepath.Join(dir, "conch.toml"), Getenv: func(string) string { return "" }, Sections: configtest.Beside(Kind().Section)})
}

const kept = `{"version":3,"address":"` + address + `","crypto":{"ciphertext":"SECRET"}}`

// S2: the default scope of an account is made of the chain's ID and the address, not of names.
func TestAccounts(t *testing.T) {
	t.Parallel()
	c, err := loadAccounts(t, db+mainnet+"finality = 12\nmin_tip = \"4 wei\"\nfinality_timeout = \"2h\"\nstill_after = \"7s\"\n"+payer+"max_in_flight = 7\nmax_fee = \"30 gwei\"\nmax_tip = 5\ngap_fill_threshold_blocks = 20\nraise_after = \"45s\"\nrepair_interval = \"3s\"\narchive_after = \"720h\"\nshared_key = true\nunlimited = true\nrestore_wait = \"3m\"\norder = \"relaxed\"\n"+hot+"order = \"strict\"\n"+"restore_wait = \"0s\"\nscope = \"mine\"\n", kept)
	if err != nil {
		t.Fatal(err)
	}
	all, roles := config.Of[*Section](c).accounts, c.Settled()
	a := all[0]
	switch {
	case a.Address.String() != address || a.Chain.Finality != 12 || a.MaxInFlight != 7 || !filepath.IsAbs(a.Keystore):
		t.Errorf("got address, finality, max_in_flight and keystore of %+v, want those of the file", a)
	case a.GapFill != 20 || a.RaiseAfter != 45*time.Second || a.Repair != 3*time.Second || a.ArchiveAfter != 720*time.Hour:
		t.Errorf("got gap fill, repair and archive of %+v, want those of the file", a)
	case !a.Relaxed || all[1].Relaxed:
		t.Errorf("got orders of %+v, want relaxed and strict", all)
	case !a.SharedKey || !a.Unlimited || all[1].Unlimited || a.RestoreWait != 3*time.Minute || all[1].SharedKey || all[1].RestoreWait >= 0:
		t.Errorf("got shared_key and restore_wait of %+v, want those of the file, and no wait for the second account", all)
	case a.MaxFee.String() != "30000000000" || a.MaxTip.String() != "5" || evmConfig(a.Chain, a.Chain.Endpoints[0], nil).MinTip.String() != "4":
		t.Errorf("got fees %v, %v, and the chain %+v, want 30000000000, 5 and 4 wei", a.MaxFee, a.MaxTip, a.Chain)
	case evmConfig(a.Chain, a.Chain.Endpoints[0], nil).StillAfter != 7*time.Second:
		t.Errorf("got still_after %v, want seven seconds", a.Chain.StillAfter)
	case a.Chain.FinalIn != 2*time.Hour:
		t.Errorf("got finality_timeout %v, want two hours", a.Chain.FinalIn)
	case len(roles) != 2 || roles[0].Scope != "pending:evm:1:"+address || !roles[0].Fenced || roles[0].Section != "accounts" || roles[1].Scope != "mine":
		t.Errorf("got roles %+v, want two, the first fenced, with the scopes of the accounts", roles)
	case a.SignerMethod != "" || all[1].SignerMethod != DefaultSignerMethod:
		t.Errorf("got signer methods %q, %q, want none and %q", a.SignerMethod, all[1].SignerMethod, DefaultSignerMethod)
	}
	if roles[0].ElectorSettings() != roles[1].ElectorSettings() {
		t.Error("got other terms for the second account, want the same, so that one elector leads both")
	}
	again, err := loadAccounts(t, db+strings.Replace(mainnet, "chain_id = 1", "chain_id = 5", 1)+payer, kept)
	if err != nil || again.Scopes()[0] != "pending:evm:5:"+address {
		t.Errorf("on chain 5: got scopes %v, %v, want the first with evm:5", again.Scopes(), err)
	}
}

// The final block is the one that the chain names, at least min_depth below its head, or the one that
// finality says.
func TestFinality(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Chain{
		"":                            {},
		"finality = 0\n":              {},
		"finality = 12\n":             {Finality: 12},
		"finality = \"instant\"\n":    {Instant: true},
		"min_depth = 5\n":             {MinDepth: 5},
		"finality = 0\nmin_depth = 5": {MinDepth: 5},
	} {
		c, err := loadAccounts(t, db+mainnet+text+"\n"+payer, kept)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got := config.Of[*Section](c).accounts[0].Chain
		if got.Finality != want.Finality || got.Instant != want.Instant || got.MinDepth != want.MinDepth {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
		driver := evmConfig(got, got.Endpoints[0], nil)
		if driver.Depth != uint64(want.Finality) || driver.Instant != want.Instant || driver.MinDepth != uint64(want.MinDepth) {
			t.Errorf("%q: the driver got depth %d, instant %v, least depth %d; want %+v", text, driver.Depth, driver.Instant, driver.MinDepth, want)
		}
	}
}

// A chain may have several endpoints, with weights; bytes may be for some alone.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	text := strings.Replace(mainnet, `url = "https://`, `urls = ["https://a.example/key", {url = "https://a.example/other", weight = 3, private = true}, "https://`, 1)
	text = strings.Replace(text, "\"\nchain_id", "\"]\nchain_id", 1)
	c, err := loadAccounts(t, db+text+payer, kept)
	if err != nil {
		t.Fatal(err)
	}
	got := config.Of[*Section](c).accounts[0].Chain
	all, names := got.places(), got.names()
	if len(all) != 3 || all[1].Weight != 3 || !all[1].Private || all[0].Private {
		t.Errorf("got %d endpoints, want three, of which the second has weight 3 and is private", len(all))
	}
	if names[0] != "https://a.example" || names[1] != "https://a.example (2)" || strings.Contains(fmt.Sprint(names), "key") {
		t.Errorf("got names %q, want host and number, and no secret", names)
	}
	driver, err := connect(got, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer disconnect(driver)
	if _, is := driver.(*endpoints.Set); !is {
		t.Errorf("got a driver of type %T for three endpoints, want a set of them", driver)
	}
}

// An endpoint has the budget of its chain, but for what it says itself.
func TestBudgets(t *testing.T) {
	t.Parallel()
	text := strings.Replace(mainnet, `url = "https://`, `urls = [{url = "https://a.example/key", max_calls_per_second = 5, costs = {eth_call = 2.5, eth_getLogs = 75}}, "https://`, 1)
	text = strings.Replace(text, "\"\nchain_id", "\"]\nmax_calls_per_second = 300\ncosts = {eth_getBlockReceipts = 20}\nchain_id", 1)
	c, err := loadAccounts(t, db+text+payer, kept)
	if err != nil {
		t.Fatal(err)
	}
	got := config.Of[*Section](c).accounts[0].Chain
	own, of := evmConfig(got, got.Endpoints[0], nil), evmConfig(got, got.Endpoints[1], nil)
	if own.MaxCallsPerSecond != 5 || fmt.Sprint(own.Costs) != "map[eth_call:2.5 eth_getLogs:75]" {
		t.Errorf("its own budget is %v, %v", own.MaxCallsPerSecond, own.Costs)
	}
	if of.MaxCallsPerSecond != 300 || fmt.Sprint(of.Costs) != "map[eth_getBlockReceipts:20]" {
		t.Errorf("the budget of the chain is %v, %v", of.MaxCallsPerSecond, of.Costs)
	}
}

func TestFaultsOfAccounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, kept string
		says             []string
	}{
		{"one table", db + "[accounts]\nname = \"x\"\n", kept, []string{"accounts", "[[accounts]]"}},
		{"no such chain", db + mainnet + strings.Replace(payer, `"main"`, `"test"`, 1), kept, []string{`line 10, accounts[0].chain: "test" is the name of no [[chains]]`}},
		{"an unknown order", db + mainnet + payer + "order = \"loose\"\n", kept, []string{`accounts[0].order: loose is no order: write "strict"`}},
		{"memory", db + strings.Replace(mainnet, `"evm"`, `"memory"`, 1) + payer, kept, []string{"line 5, chains[0].kind", "conch-devnode"}},
		{"substrate", db + strings.Replace(mainnet, `"evm"`, `"substrate"`, 1) + payer, kept, []string{"chains[0].kind: substrate is not in this version"}},
		{"another kind", db + strings.Replace(mainnet, `"evm"`, `"evn"`, 1) + payer, kept, []string{`"evn" is no kind of chain`}},
		{"no chain ID", db + strings.Replace(mainnet, "chain_id = 1\n", "", 1) + payer, kept, []string{"chains[0].chain_id: is missing"}},
		{"a chain twice", db + mainnet + mainnet + payer, kept, []string{`chains[1].name: "main" is the name of chains[0]`}},
		{"a chain without a name", db + strings.Replace(mainnet, "name = \"main\"\n", "", 1) + payer, kept, []string{"chains[0]: has no name"}},
		{"no URL", db + strings.Replace(mainnet, "https://", "htps://", 1) + payer, kept, []string{"chains[0].url: is not a URL"}},
		{"an endpoint twice", db + mainnet + "urls = [\"https://x.example/s3cret\", \"https://x.example/s3cret\"]\n" + payer, kept, []string{"chains[0].urls: there is a url too"}},
		{"an endpoint twice", db + strings.Replace(mainnet, "url = ", "urls = [\"https://x.example/s3cret\", \"https://x.example/s3cret\"]\n#", 1) + payer, kept, []string{"chains[0].urls[1]: is urls[0] once more"}},
		{"no endpoint", db + strings.Replace(mainnet, "url = ", "urls = []\n#", 1) + payer, kept, []string{"chains[0].urls: write a list"}},
		{"an endpoint of another kind", db + strings.Replace(mainnet, "url = ", "urls = [\"https://x.example\", \"ipc:///x\"]\n#", 1) + payer, kept, []string{"chains[0].urls[1]: is not a URL"}},
		{"finality", db + mainnet + "finality = 4096\n" + payer, kept, []string{"chains[0].finality: 4096", "4095 at most"}},
		{"finality", db + mainnet + "finality = -1\n" + payer, kept, []string{"chains[0].finality: -1"}},
		{"finality in words", db + mainnet + "finality = \"soon\"\n" + payer, kept, []string{`line 8, chains[0].finality: "soon"`, `"instant"`}},
		{"finality in a text", db + mainnet + "finality = \"12\"\n" + payer, kept, []string{`chains[0].finality: "12"`}},
		{"no calls", db + mainnet + "max_calls_per_second = 0\n" + payer, kept, []string{"line 8, chains[0].max_calls_per_second", "leave it out"}},
		{"a cost of none", db + mainnet + "costs = {eth_call = 0}\n" + payer, kept, []string{"line 8, chains[0].costs.eth_call", "no number of units above 0"}},
		{"costs without methods", db + mainnet + "costs = 20\n" + payer, kept, []string{"line 8, chains[0].costs", "eth_getBlockReceipts = 20"}},
		{"two depths", db + mainnet + "finality = 12\nmin_depth = 3\n" + payer, kept, []string{"line 9, chains[0].min_depth", "take one of the two out"}},
		{"instant and a depth", db + mainnet + "finality = \"instant\"\nmin_depth = 3\n" + payer, kept, []string{"line 9, chains[0].min_depth"}},
		{"a depth of none", db + mainnet + "min_depth = 0\n" + payer, kept, []string{"line 8, chains[0].min_depth", `"instant"`}},
		{"a deep depth", db + mainnet + "min_depth = 4096\n" + payer, kept, []string{"line 8, chains[0].min_depth: 4096", "4095 at most"}},
		{"a shared key in words", db + mainnet + payer + "shared_key = \"yes\"\n", kept, []string{"line 13, accounts[0].shared_key"}},
		{"a wait without a unit", db + mainnet + payer + "restore_wait = 0\n", kept, []string{"line 13, accounts[0].restore_wait", "no unit"}},
		{"a wait below 0", db + mainnet + payer + "restore_wait = \"-1s\"\n", kept, []string{"line 13, accounts[0].restore_wait", "not above 0"}},
		{"unknown key", db + mainnet + payer + "key_store = \"x\"\n", kept, []string{"line 13, accounts[0].key_store", `"keystore"`}},
		{"a webhook's address", db + mainnet + payer + hooks + "url = \"shop.example\"\n", kept, []string{"webhooks[0].url: is not an address such as"}},
		{"a webhook with a password", db + mainnet + payer + hooks + "url = \"https://a:SECRET@shop.example\"\n", kept, []string{"webhooks[0].url: has a user or a password in it"}},
		{"a webhook without a secret", db + mainnet + payer + "[[webhooks]]\nname = \"shop\"\nurl = \"https://shop.example\"\n", kept, []string{"webhooks[0].secret_file: is missing"}},
		{"a webhook without a name", db + mainnet + payer + "[[webhooks]]\nurl = \"https://shop.example\"\nsecret_file = \"x\"\n", kept, []string{"webhooks[0].name: is missing"}},
		{"a webhook twice", db + mainnet + payer + hooks + "url = \"https://a\"\n" + hooks + "url = \"https://a\"\n", kept, []string{`webhooks[1].name: "shop" is the name of webhooks[0] already`}},
		{"a webhook's event", db + mainnet + payer + hooks + "url = \"https://a\"\nevents = [\"final\", \"done\"]\n", kept, []string{`webhooks[0].events[1]: "done" is none of accepted, nonce,`}},
		{"a webhook's account", db + mainnet + payer + hooks + "url = \"https://a\"\naccounts = [\"payee\"]\n", kept, []string{`webhooks[0].accounts[0]: "payee" is the name of no [[accounts]]`}},
		{"a webhook for nothing", db + mainnet + payer + hooks + "url = \"https://a\"\nevents = []\naccounts = []\n", kept, []string{"webhooks[0].events: is empty", "webhooks[0].accounts: is empty"}},
		{"a webhook without accounts", db + "[[roles]]\nname = \"x\"\n" + hooks + "url = \"https://a\"\n", kept, []string{"webhooks[0]: there are no [[accounts]]"}},
		{"a webhook of one copy", "[node]\nstandalone = true\n" + mainnet + payer + hooks + "url = \"https://a\"\n", kept, []string{"webhooks[0]: a standalone node has no events"}},
		{"nothing to sign with", db + mainnet + "[[accounts]]\nname = \"x\"\nchain = \"main\"\n", kept, []string{"line 8, accounts[0]: has nothing to sign with"}},
		{"two to sign with", db + mainnet + payer + "signer = \"http://x\"\n", kept, []string{"accounts[0].signer: there is a keystore too"}},
		{"no password", db + mainnet + strings.Replace(payer, "password_file = \"password\"\n", "", 1), kept, []string{"accounts[0].password_file: is missing"}},
		{"a signer without an address", db + mainnet + strings.Split(hot, "address =")[0], kept, []string{"accounts[0].address: is missing"}},
		{"a password for a signer", db + mainnet + hot + "password_file = \"password\"\n", kept, []string{"line 13, accounts[0].password_file: opens a keystore", "signer"}},
		{"a signer's method for a keystore", db + mainnet + payer + "signer_method = \"account_signTransaction\"\n", kept, []string{"line 13, accounts[0].signer_method", "keystore"}},
		{"a key of AWS that is none", db + mainnet + strings.Replace(hot, "http://127.0.0.1:9000/SECRET", "awskms:payouts", 1), kept, []string{"line 11, accounts[0].signer: does not name a key", "awskms:alias/payouts"}},
		{"a key of Google without a version", db + mainnet + strings.Replace(hot, "http://127.0.0.1:9000/SECRET", "gcpkms:projects/a/locations/b/keyRings/c/cryptoKeys/d", 1), kept, []string{"accounts[0].signer: does not name a key", "a version"}},
		{"a key of Vault without a mount", db + mainnet + strings.Replace(hot, "http://127.0.0.1:9000/SECRET", "vault:payouts", 1), kept, []string{"accounts[0].signer: does not name a key", "vault:transit/payouts"}},
		{"a service that is none", db + mainnet + strings.Replace(hot, "http://127.0.0.1:9000/SECRET", "azure:payouts", 1), kept, []string{"accounts[0].signer: is not a URL", "vault:transit/payouts"}},
		{"a service's method", db + mainnet + strings.Replace(hot, "http://127.0.0.1:9000/SECRET", "vault:transit/payouts", 1) + "signer_method = \"account_signTransaction\"\n", kept, []string{"line 13, accounts[0].signer_method", "service of keys"}},
		{"a service without an address", db + mainnet + strings.Replace(strings.Split(hot, "address =")[0], "http://127.0.0.1:9000/SECRET", "awskms:alias/payouts", 1), kept, []string{"accounts[0].address: is missing"}},
		{"archived alone", "[node]\nstandalone = true\n" + mainnet + payer + "archive_after = \"720h\"\n", kept, []string{"line 13, accounts[0].archive_after", "standalone"}},
		{"a bad address", db + mainnet + payer + "address = \"0x12\"\n", kept, []string{"accounts[0].address", "40 hexadecimal digits"}},
		{"an address with a wrong checksum", db + mainnet + strings.Replace(hot, "00AA", "00Aa", 1), kept, []string{"accounts[0].address", "with these digits it is 0x00000000000000000000000000000000000000AA"}},
		{"an address by a name", db + mainnet + strings.Replace(hot, "0x00000000000000000000000000000000000000AA", "payer.eth", 1), kept, []string{"accounts[0].address", "it is a name"}},
		{"a keystore with a wrong checksum", db + mainnet + payer, strings.Replace(kept, address, "0x6D2d50b5d17b86bf964d636751ed84b7b9fc8971", 1), []string{"accounts[0].keystore: has an address that has a wrong checksum"}},
		{"another's address", db + mainnet + payer + "address = \"0x00000000000000000000000000000000000000aa\"\n", kept, []string{"accounts[0].address", "is not the keystore's"}},
		{"a keystore without an address", db + mainnet + payer, strings.Replace(kept, address, "", 1), []string{"accounts[0].address: is missing"}},
		{"no keystore", db + mainnet + payer, "SECRET", []string{"accounts[0].keystore: is not a keystore", "web3 secret storage"}},
		{"a keystore that is not there", db + mainnet + strings.Replace(payer, "key.json", "none.json", 1), kept, []string{"accounts[0].keystore: cannot be read"}},
		{"one account twice", db + mainnet + payer + strings.Replace(payer, `"payer"`, `"other"`, 1), kept, []string{"accounts[1]: 0x6d2d", "is accounts[0] already"}},
		{"one account twice under two scopes", db + mainnet + payer + strings.Replace(payer, `"payer"`, `"other"`, 1) + "scope = \"x\"\n", kept, []string{"is accounts[0] already"}},
		{"one account over two endpoints", db + mainnet + strings.Replace(mainnet, `"main"`, `"two"`, 1) + payer + strings.NewReplacer(`"payer"`, `"other"`, `"main"`, `"two"`).Replace(payer), kept, []string{"is accounts[0] already"}},
		{"one name twice", db + mainnet + payer + strings.Replace(hot, `"hot"`, `"payer"`, 1), kept, []string{`accounts[1].name: "payer" is the name of accounts[0]`}},
		{"a role's scope", db + mainnet + "[[roles]]\nname = \"a\"\n" + payer + "scope = \"a\"\n", kept, []string{`accounts[0].scope: "a" is the scope of roles[0]`}},
		{"in flight", db + mainnet + payer + "max_in_flight = -3\n", kept, []string{"max_in_flight: -3"}},
		{"archived at once", db + mainnet + payer + "archive_after = \"0s\"\n", kept, []string{"accounts[0].archive_after", "not above 0"}},
		{"a fee", db + mainnet + payer + "max_fee = \"30 ether\"\n", kept, []string{"accounts[0].max_fee", "gwei"}},
		{"a least tip of none", db + mainnet + "min_tip = 0\n" + payer, kept, []string{"line 8, chains[0].min_tip", "gwei"}},
		{"a huge least tip", db + mainnet + "min_tip = \"20000000000 gwei\"\n" + payer, kept, []string{"line 8, chains[0].min_tip", "more than any chain asks"}},
		{"a tip below the least", db + mainnet + "min_tip = 5\n" + payer + "max_tip = 6\n", kept, []string{"line 14, accounts[0].max_tip: four fifths", "min_tip of 5 wei"}},
		{"no fee", db + mainnet + payer + "max_tip = 0\n", kept, []string{"accounts[0].max_tip"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := loadAccounts(t, c.text, c.kept)
			if err == nil {
				t.Fatal("got no fault")
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %v\nwant it to say %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "SECRET") {
				t.Errorf("got a secret in %v", err)
			}
		})
	}
}

// makes runs conch account new, at a cost that a test with the race detector can pay, and returns what it prints.
func makes(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	a := newShell(&cli.Shell{World: cli.World{Stdout: &out, Stderr: &out}, JSON: true})
	if a.cost != evm.StandardCost {
		t.Errorf("a key costs %v to guess", a.cost)
	}
	a.cost = evm.NoCost
	cmd := a.account()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(append([]string{"new"}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// A key that conch makes is one that a node opens; no file is overwritten, and only its owner reads it.
func TestNewAccounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, password := filepath.Join(dir, "key.json"), filepath.Join(dir, "password")
	text, err := makes(t, "--keystore", key, "--password-file", password)
	var said struct{ Address, Keystore string }
	if err != nil || json.Unmarshal([]byte(text), &said) != nil {
		t.Fatalf("%v %s", err, text)
	}
	opened, err := evm.OpenKeystore(key, password)
	if err != nil || opened.Account().String() != said.Address || said.Keystore != key {
		t.Errorf("the key is of %v (%v), and %s was printed", opened, err, text)
	}
	for _, file := range []string{key, password} {
		if about, err := os.Stat(file); err != nil || about.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v, want it for its owner alone", file, about, err)
		}
	}
	if text, err := makes(t, "--keystore", key, "--password-file", password); err == nil {
		t.Errorf("a second key overwrote the first: %s", text)
	}
	if text, err := makes(t, "--keystore", filepath.Join(dir, "second.json"), "--password-file", password); err != nil || strings.Contains(text, said.Address) {
		t.Errorf("with the same password: %v %s, want another account", err, text)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("\nx"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := makes(t, "--keystore", filepath.Join(dir, "third.json"), "--password-file", empty); err == nil {
		t.Errorf("an empty password was taken: %s", text)
	}
}

// A reload with a higher max_fee is heard by the leader of the account, in the same term.
func TestAReloadRaisesTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		testChain := chaintest.New(chaintest.Config{Depth: 2})
		a := Account{Name: "main", Scope: "pending:main", Address: testChain.Account("main", 1<<60), Chain: Chain{Kind: KindEVM, ChainID: 1}, MaxFee: big.NewInt(50)}
		var beside sync.WaitGroup
		frame := node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler), Over: ctx, Go: beside.Go}
		s := newService(frame, func(Chain) (chain.Chain, error) { return testChain.Line(), nil })
		reload := func() {
			use, err := s.accounts.prepare([]Account{a})
			if err != nil {
				t.Fatal(err)
			}
			use()
		}
		reload()
		in, err := s.accounts.store(a.Chain).Accept(ctx, pending.Intent{Account: a.Address, Call: chain.Call{To: []byte("somebody")}})
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(func() { testChain.Run(ctx, time.Second) })
		role := sender{service: s, account: a}
		running.Go(func() {
			_ = role.lead(ctx, election.Leadership{Gate: fence.Standalone(a.Scope, "n1"), Token: fence.Token{Scope: a.Scope}})
		})
		fate := func() pending.Record {
			time.Sleep(time.Minute)
			r, err := s.accounts.store(a.Chain).Get(ctx, in.ID)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := fate(); r.Index != nil || r.Hold.Why == "" {
			t.Errorf("the fee is above the limit: got %+v, want no nonce, and why", r)
		}
		a.MaxFee = big.NewInt(5000)
		reload()
		if r := fate(); r.Fate != pending.Done {
			t.Errorf("more is allowed: got %+v, want it done", r)
		}
		end()
		running.Wait()
	})
}
