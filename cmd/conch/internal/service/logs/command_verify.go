package logs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/internal/pause"
)

func (a *shell) verify() *cobra.Command {
	var nodes []string
	var file, tokenFile string
	cmd := &cobra.Command{
		Use:   "verify NAMESPACE",
		Short: "compare the copies of several nodes, or check a store file entry by entry",
		Long: `verify asks several nodes for the newest entry that all of them have, and compares its hash, which stands for every
entry before it, and the hash of the state after it. If they differ it looks for the first entry at which they do, and the
exit code is 1. One node has nothing to be compared with, so two are the least.

With --store it asks nobody: it reads a store file that no process has, checks each entry against the one before it, and
makes the state anew. It tells also what the store keeps as evidence: heads that members have signed and that cannot be true.`,
		Example: `  conch log verify flags --node http://a:7070 --node http://b:7070 --node http://c:7070
  conch log verify flags --store /var/lib/conch/logs/flags.log --json`,
		Args: exactly(1, "the namespace of the log"),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&nodes, "node", nil, "`URL` of a node's API, or unix:/path; repeat it for each node")
	flags.StringVar(&tokenFile, "token-file", "", "`file` with the token; else CONCH_TOKEN_FILE")
	flags.StringVar(&file, "store", "", "`file` of a node's store, which no process has")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.Does(func(ctx context.Context) error {
			switch {
			case file != "" && len(nodes) > 0:
				return cli.Usagef("--store asks no node: leave out one of --store and --node")
			case file != "":
				return a.verifyStore(ctx, args[0], file)
			}
			if len(slices.Compact(slices.Sorted(slices.Values(nodes)))) < 2 { // a script would take it for equal
				return cli.Usagef("verify compares the copies of several nodes: repeat --node for each of them, such as --node http://a:7070 --node http://b:7070. It checks one copy alone if that is a file, by --store")
			}
			var clients []*cli.Client
			for _, url := range nodes {
				c := cli.NewClient(url, tokenFile)
				if err := c.Prepare(a.Getenv); err != nil {
					return err
				}
				clients = append(clients, c)
			}
			return a.compare(ctx, args[0], nodes, clients)
		})(cmd, args)
	}
	return cmd
}

// Verdict says whether nodes have the same log.
type Verdict struct {
	Equal  bool       `json:"equal"`
	Index  uint64     `json:"index"`            // up to which they are equal; else the first entry at which they differ
	Before bool       `json:"before,omitempty"` // they may differ before it, too: one of them has dropped what is there
	Nodes  []Examined `json:"nodes"`
}

// Examined is what a node has.
type Examined struct {
	Node  string `json:"node"`
	Self  string `json:"self"`
	ID    string `json:"id"`
	Index uint64 `json:"index"` // its newest entry
	Hash  string `json:"hash"`  // of the entry that was compared
	State string `json:"state"` // the hash of the state after that one
}

// comparePatience is how long a node is waited for that has dropped the entry that all have.
const comparePatience = 10 * time.Second

func (a *shell) compare(ctx context.Context, namespace string, urls []string, clients []*cli.Client) error {
	ctx, cancel := context.WithTimeout(ctx, comparePatience)
	defer cancel()
	for {
		v, err := examined(ctx, namespace, urls, clients)
		if errors.Is(err, errMoved) && pause.For(ctx, time.Second/2) == nil {
			continue
		}
		if err != nil {
			return err
		}
		return a.verdict(v)
	}
}

// errMoved means that no entry is at all nodes.
var errMoved = errors.New("no entry is at all nodes: one is so far behind that the others have dropped what it has. Wait until it has come further (conch log status)")

func examined(ctx context.Context, namespace string, urls []string, clients []*cli.Client) (Verdict, error) {
	v := Verdict{Equal: true}
	first := uint64(0)
	for i, c := range clients {
		_, s, err := statusFrom(ctx, c, namespace)
		switch {
		case err != nil:
			return v, err
		case s.Position == nil:
			return v, absence(s, s.Self+" has no copy of the log: ")
		}
		v.Nodes = append(v.Nodes, Examined{Node: urls[i], Self: s.Self, ID: s.ID, Index: s.Position.Index})
		if i == 0 || s.Position.Index < v.Index {
			v.Index = s.Position.Index
		}
		first = max(first, s.First)
	}
	for i := range v.Nodes {
		v.Equal = v.Equal && v.Nodes[i].ID == v.Nodes[0].ID
	}
	if !v.Equal || v.Index == 0 {
		return v, nil
	}
	if v.Index < first {
		return v, errMoved
	}
	equal, err := v.at(ctx, namespace, clients, v.Index)
	if v.Equal = equal; equal || err != nil {
		return v, err
	}
	// The hash of an entry stands for all before it: from the first difference on all are different.
	differ := v.Index
	for low := first; low < differ; {
		middle := low + (differ-low)/2
		equal, err := v.at(ctx, namespace, clients, middle)
		switch {
		case err != nil:
			return v, err
		case equal:
			low = middle + 1
		default:
			differ = middle
		}
	}
	v.Index, v.Before = differ, differ == first && first > 1
	_, err = v.at(ctx, namespace, clients, differ)
	return v, err
}

// at takes what each node has at an entry, and reports whether that is the same.
func (v *Verdict) at(ctx context.Context, namespace string, clients []*cli.Client, index uint64) (equal bool, err error) {
	equal = true
	for i, c := range clients {
		_, page, err := cli.Fetch(ctx, c, http.MethodGet, about(namespace, fmt.Sprintf("entries?from=%d&limit=1", index)), func(p Page) bool { return p.Entries != nil })
		if err != nil {
			return false, err
		}
		if len(page.Entries) != 1 || page.Entries[0].Index != index {
			return false, errMoved
		}
		v.Nodes[i].Hash, v.Nodes[i].State = page.Entries[0].Hash, page.Entries[0].State
		equal = equal && v.Nodes[i].Hash == v.Nodes[0].Hash && v.Nodes[i].State == v.Nodes[0].State
	}
	return equal, nil
}

func (a *shell) verdict(v Verdict) error {
	if a.JSON {
		if err := a.Document(v); err != nil {
			return err
		}
	} else {
		var rows []string
		for _, n := range v.Nodes {
			rows = append(rows, cli.Row("%s\t%d\t%s\t%s\t%s", n.Self, n.Index, brief(n.ID), brief(n.Hash), brief(n.State)))
		}
		_ = a.Table("NODE\tINDEX\tLOG\tHASH\tSTATE", rows)
	}
	for _, n := range v.Nodes[1:] {
		if n.ID != v.Nodes[0].ID {
			return fmt.Errorf("%s and %s have two logs of one name. After conch log recover each node needs the new one, also a follower: by --from, or by its id in [[logs]]", v.Nodes[0].Self, n.Self)
		}
	}
	switch {
	case !v.Equal && v.Before:
		return fmt.Errorf("the nodes differ at entry %d, and maybe before it, where one of them has dropped its entries: %s", v.Index, restoredOrLied)
	case !v.Equal:
		return fmt.Errorf("the nodes differ from entry %d on: %s", v.Index, restoredOrLied)
	}
	if a.JSON {
		return nil
	}
	return a.Line("equal up to entry %d", v.Index)
}

const restoredOrLied = "a member's store was restored from a backup or copied, or a member lies. docs/log.md (A store that was restored) says what to do; the nodes' logs tell who has signed what"

// brief returns the first digits of a hash.
func brief(hash string) string { return cli.OrDash(hash[:min(len(hash), 12)]) }
