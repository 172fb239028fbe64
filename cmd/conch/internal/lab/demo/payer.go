//go:build unix

package demo

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/lab/devnode"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
)

// PayerScope is the scope whose leader sends the account's transactions.
const PayerScope = "payer"

// payer is the account that all nodes send from, configured as a user would: a keystore, a
// password file, and a conch.toml that names both.
type payer struct {
	address string
	config  string // path of the conch.toml that all nodes read
}

// newPayer writes the files into dir, readable by their owner alone.
func newPayer(dir string, d *devnode.Node, lease time.Duration, told *receiver, signs string) (*payer, error) {
	keystore, password := filepath.Join(dir, "payer.json"), filepath.Join(dir, "password")
	secret := rand.Text()
	account, err := evm.WriteKeystore(keystore, d.PrivateKey, secret, evm.NoCost)
	if err != nil {
		return nil, err
	}
	p := &payer{address: account.String(), config: filepath.Join(dir, "conch.toml")}
	err = os.WriteFile(password, []byte(secret+"\n"), 0o600)
	if err == nil {
		err = os.WriteFile(p.config, []byte(fmt.Sprintf(payerConfig,
			stage.TOML(lease.String()), stage.TOML(d.HTTP), d.ChainID, stage.TOML(PayerScope), stage.TOML(keystore), stage.TOML(password), stage.TOML(told.url), stage.TOML(signs))), 0o600)
	}
	return p, err
}

// cronName is the cron that all nodes have, which is due each second.
const cronName = "tick"

// payerConfig is every node's conch.toml; its name and API address are flags.
const payerConfig = `[election]
lease = %s

[[crons]]
name = "` + cronName + `"
schedule = "* * * * * *"
command = ["true"]
catch_up = "all"
overlap = "allow"

[[workers]]

[[chains]]
name = "private"
kind = "evm"
url = %s
chain_id = %d

[[accounts]]
name = "payer"
chain = "private"
scope = %s
keystore = %s
password_file = %s

[[webhooks]]
name = "shop"
url = %s
secret_file = %s
events = ["accepted", "in_block", "retracted", "final", "rejected", "rewound"]
local = true
`
