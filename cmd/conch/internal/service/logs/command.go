package logs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/txlog"
)

// Commands returns conch log, and adds conch status --logs.
func Commands(s *cli.Shell) []*cobra.Command {
	a := &shell{s}
	s.View(cli.View{
		Flag: "logs", Usage: "ask a node for its logs",
		Long: `With --logs it asks a node for its part in each log, how far its copy is, who leads as far as it
knows, and what keeps the log from going on.`,
		Example: "conch status --logs --node http://127.0.0.1:7070", Show: a.overview,
	})
	return []*cobra.Command{a.root()}
}

// shell runs the commands.
type shell struct{ *cli.Shell }

func (a *shell) root() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "log",
		Short: "logs: make one, submit goals, read what every node has, and compare the nodes",
		Long: `log asks a node that has the log in its configuration, over its API: any of them, members and
followers. --node of each command names it, or CONCH_NODE_URL for all of them (default http://127.0.0.1:7070).
log does not use a database, so --db has no effect.`,
		Example: `  conch log create flags --members a,b,c
  conch log goal flags '{"op":"put","key":"dark","value":true}'
  conch log query flags '{"prefix":""}'
  conch log tail flags --follow
  conch log verify flags --node http://a:7070 --node http://b:7070`,
	}, a.create(), a.goal(), a.query(), a.tail(), a.members(), a.consult(), a.listing(), a.status(), a.verify(), a.recover())
}

// patient tells people what a command waits for that has no answer for a while, until the function that it returns is called.
func (a *shell) patient(what string) (over func()) {
	if people, _ := cli.Terminal(a.Stderr); !people {
		return func() {}
	}
	tell := time.AfterFunc(2*time.Second, func() { a.Say("still waiting: %s", what) })
	return func() { tell.Stop() }
}

// about returns the path of a log's part of the API.
func about(namespace, part string) string {
	path := pathLogs + "/" + url.PathEscape(namespace)
	if part != "" {
		path += "/" + part
	}
	return path
}

// exactly takes so many arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return cli.Usagef("%s takes %s: see %q", cmd.Name(), what, cmd.CommandPath()+" --help")
	}
}

func (a *shell) create() *cobra.Command {
	var members []string
	var lease time.Duration
	var unknown string
	kind := ""
	cmd := &cobra.Command{
		Use:   "create NAMESPACE",
		Short: "make a log, once; nothing else ever makes one",
		Long: `create has a node make the log: it asks each member for a store of its own, and tells all of them how
the log begins. All members have to run, with a [[logs]] table of that namespace. If one of them is
away nothing is made. Asked again with the same members, the node names the same log.

The id that is printed is the log's name for good. Nodes whose configuration has it (id in [[logs]]) believe
nobody else how the log began.`,
		Example: `  conch log create flags --members a,b,c
  conch log create flags --members a,b,c --lease 2s --node http://127.0.0.1:7070 --json`,
		Args: exactly(1, "the namespace of the log"),
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&members, "members", nil, "`names` of the nodes that decide, as their [identity] has them: 3, 5 or 7")
	flags.DurationVar(&lease, "lease", 0, "for how long a leader may act outside of the log after its last beat (default 3s)")
	flags.StringVar(&kind, "machine", kind, "the state machine, as each node's [[logs]] table has it: kv or prolog (default: what is there)")
	flags.StringVar(&unknown, "unknown", "", "of machine prolog: fail if a call of a predicate that does not exist just fails (default: it is an `error`)")
	return a.Asks(cmd, func() error {
		if len(members) == 0 {
			return cli.Usagef("--members is missing: name the nodes that decide, such as --members a,b,c")
		}
		if least, most := txlog.LeastLease*time.Millisecond, txlog.MostLease*time.Millisecond; flags.Changed("lease") && (lease < least || lease > most) {
			return cli.Usagef("--lease %v is not from %v to %v", lease, least, most)
		}
		if unknown != "" && unknown != "fail" && unknown != "error" {
			return cli.Usagef("--unknown is fail or error")
		}
		return nil
	}, func(ctx context.Context, c *cli.Client, args []string) error {
		body := creation{Namespace: args[0], Members: members, Machine: kind, LeaseMS: uint64(lease.Milliseconds())}
		var raw json.RawMessage
		over := a.patient("the node asks those that are to be members")
		defer over()
		if err := c.Ask(ctx, http.MethodPost, pathLogs, body, &raw); err != nil {
			return err
		}
		var made Created
		if json.Unmarshal(raw, &made) != nil || made.ID == "" {
			return c.Stranger()
		}
		if made.Warning != "" {
			a.Say("warning: %s", made.Warning)
		}
		if unknown != "" {
			if err := a.setUnknown(ctx, c, args[0], made, unknown); err != nil {
				return err
			}
		}
		if a.JSON {
			return a.Document(raw)
		}
		return a.Line("%s", made.ID)
	})
}

func (a *shell) query() *cobra.Command {
	var fresh bool
	cmd := &cobra.Command{
		Use:   "query NAMESPACE QUERY",
		Short: "ask a node's copy of a log",
		Long: `query asks the copy that the node has, which works when everything else is down, and may be behind. With
--fresh the answer has everything that was acknowledged before: a majority of the members has to be there.`,
		Example: `  conch log query flags '{"get":"dark"}'
  conch log query flags '{"prefix":"routes/","limit":100}' --fresh
  conch log query flags '{"count":""}' --json | jq .as_of.index`,
		Args: exactly(2, "the namespace of the log and a query"),
	}
	cmd.Flags().BoolVar(&fresh, "fresh", false, "answer with everything that was acknowledged before")
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		if !json.Valid([]byte(args[1])) {
			return cli.Usagef("the query is no JSON: see %q", cmd.CommandPath()+" --help")
		}
		var raw json.RawMessage
		if err := c.Ask(ctx, http.MethodPost, about(args[0], "state"), Question{json.RawMessage(args[1]), fresh}, &raw); err != nil {
			return err
		}
		var read Read
		switch {
		case json.Unmarshal(raw, &read) != nil || read.Answer == nil:
			return c.Stranger()
		case a.JSON:
			return a.Document(raw)
		}
		return a.Line("%s", read.Answer)
	})
}

func (a *shell) members() *cobra.Command {
	var set []string
	var since uint64
	cmd := &cobra.Command{
		Use:   "members NAMESPACE",
		Short: "who decides in a log; with --set, change it",
		Long: `Without --set members shows who decides, and what the node has heard of them. With --set it makes these
nodes the members, whichever node is asked. New members have to have the log in their configuration, and a
copy of it. Nothing is done while a member that stays waits for its new store to be admitted, or if too few of
these answer to decide anything. The command says how many of their disks may be lost from then on. If nobody can
say what became of it, ask again with the since that the answer names: nothing is done twice. With --since nothing
is done if the members have changed since the entry that members has shown.`,
		Example: `  conch log members flags
  conch log members flags --set a,b,d
  conch log members flags --set a,b,d --since 4711`,
		Args: exactly(1, "the namespace of the log"),
	}
	cmd.Flags().StringSliceVar(&set, "set", nil, "`names` of the nodes that are to decide from now on")
	cmd.Flags().Uint64Var(&since, "since", 0, "with --set: the `entry` as of which you have seen the members (default: those that decide now)")
	return a.Asks(cmd, func() error {
		if cmd.Flags().Changed("set") && len(set) == 0 { // such as by a variable that is empty: nothing was to be shown
			return cli.Usagef("--set names nobody: name the nodes that are to decide, such as --set a,b,c")
		}
		if said(cmd, since) != nil && len(set) == 0 {
			return cli.Usagef("--since is of use with --set alone: it says which members the change counts on")
		}
		return nil
	}, func(ctx context.Context, c *cli.Client, args []string) error {
		if len(set) == 0 {
			return a.showMembers(ctx, c, args[0])
		}
		var changed Changed
		over := a.patient("the leader asks those that are new, and waits for a majority of the members")
		defer over()
		if err := c.Ask(ctx, http.MethodPost, about(args[0], "members"), names{set, said(cmd, since)}, &changed); err != nil {
			return err
		}
		if changed.Warning != "" {
			a.Say("warning: %s", changed.Warning)
		}
		if a.JSON {
			return a.Document(changed)
		}
		return a.Line("as of entry %d these decide: %s. %d of their %d disks may be lost", changed.Index, strings.Join(set, ", "), changed.MayLose, len(set)) // also if they did before
	})
}

// said returns a command's since, nil if the user has said none.
func said(cmd *cobra.Command, since uint64) *uint64 {
	if !cmd.Flags().Changed("since") {
		return nil
	}
	return &since
}

func (a *shell) showMembers(ctx context.Context, c *cli.Client, namespace string) error {
	raw, s, err := statusFrom(ctx, c, namespace)
	switch {
	case err != nil:
		return err
	case len(s.Members) == 0:
		return absence(s, "")
	case a.JSON:
		return a.Document(raw)
	}
	_ = a.Table("MEMBER\tLEADS\tHEARD\tSTORE\tKEY", memberRows(s))
	return a.Line("as of entry %d", s.MembersAt)
}

func memberRows(s Status) (rows []string) {
	for _, m := range s.Members {
		leads, heard := "-", "-"
		if m.Name == s.Leader {
			leads = "yes"
		}
		if m.HeardMS != nil {
			heard = cli.Ago(*m.HeardMS)
		}
		if m.Name == s.Self {
			heard = "this node"
		}
		name := m.Name
		if m.Leaving {
			name += " (leaving)"
		}
		rows = append(rows, cli.Row("%s\t%s\t%s\t%d\t%s", name, leads, heard, m.Store, m.Key))
	}
	return rows
}

// absence is the error of a command about a log of which a node has no copy: nobody may have made it.
func absence(s Status, begins string) error {
	if s.State == stateWaiting && s.Why == "" {
		return cli.Usagef("%s%s", begins, cmp.Or(s.Advice, notMade))
	}
	return errors.New(begins + cmp.Or(s.Why, errNotHere.Error()))
}

func statusFrom(ctx context.Context, c *cli.Client, namespace string) (json.RawMessage, Status, error) {
	return cli.Fetch(ctx, c, http.MethodGet, about(namespace, ""), func(s Status) bool { return s.Namespace != "" })
}

func (a *shell) status() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [NAMESPACE]",
		Short: "the logs of a node, or one of them: how far its copy is, who leads, and what is in its way",
		Example: `  conch log status
  conch log status flags --node http://b:7070 --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return nil
			}
			return cli.Usagef("status takes the namespace of one log, or none: see %q", cmd.CommandPath()+" --help")
		},
	}
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		if len(args) == 1 {
			return a.showOne(ctx, c, args[0])
		}
		return a.overview(ctx, c)
	})
}

// overview shows all logs of a node.
func (a *shell) overview(ctx context.Context, c *cli.Client) error {
	raw, all, err := cli.Fetch(ctx, c, http.MethodGet, pathLogs, func(l List) bool { return l.Logs != nil })
	switch {
	case err != nil:
		return err
	case len(all.Logs) == 0:
		return cli.Usagef("this node has no log: its configuration has no [[logs]]")
	case a.JSON:
		return a.Document(raw)
	}
	return a.showAll(all.Logs)
}

// showAll prints a line for each log, and below them what is too long for one.
func (a *shell) showAll(all []Status) error {
	var rows []string
	for _, s := range all {
		rows = append(rows, rowOf(s))
	}
	_ = a.Table("LOG\tSTATE\tROLE\tINDEX\tBEHIND\tLEADER\tTERM\tMEMBERS", rows)
	for _, s := range all {
		text := s.Why
		if s.Advice != "" {
			text = strings.TrimPrefix(text+". "+s.Advice, ". ")
		}
		if text != "" {
			_ = a.Line("%s: %s", s.Namespace, text)
		}
	}
	return nil
}

func rowOf(s Status) string {
	index, who := "-", []string{}
	if s.Position != nil {
		index = fmt.Sprint(s.Position.Index)
	}
	for _, m := range s.Members {
		who = append(who, m.Name)
	}
	return cli.Row("%s\t%s\t%s\t%s\t%d\t%s\t%d\t%s", s.Namespace, s.State, s.Role, index, s.Copy.Behind, cli.OrDash(s.Leader), s.Term, cli.OrDash(strings.Join(who, ", ")))
}

func (a *shell) showOne(ctx context.Context, c *cli.Client, namespace string) error {
	raw, s, err := statusFrom(ctx, c, namespace)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.Document(raw)
	}
	at := ""
	if s.Position != nil {
		at = fmt.Sprintf("entry %d, %s", s.Position.Index, s.Position.Hash)
	}
	if err := a.Fields([][2]string{
		{"log", s.Namespace}, {"state", s.State}, {"role", s.Role}, {"why", s.Why}, {"id", s.ID}, {"copy", at}, {"leader", cli.OrDash(s.Leader)}, {"advice", s.Advice},
	}); err != nil || len(s.Members) == 0 {
		return err
	}
	return a.Table("MEMBER\tLEADS\tHEARD\tSTORE\tKEY", memberRows(s))
}
