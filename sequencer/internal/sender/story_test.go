package sender

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

var update = flag.Bool("update", false, "rewrite the actions in the stories")

// turns is a policy that people can follow: a, b, c for range 0, then b, c, a, and so on.
type turns struct{}

func (turns) Order(_ string, nodes []string, r ranking.Range) []string {
	at := int(r) % len(nodes)
	return slices.Concat(nodes[at:], nodes[:at])
}

// In a story in testdata a line is an input, and the indented lines after it are the actions that it causes. Intents are
// named by their users' keys; attempts (A and a number) and delegations (D and a number) as they come.
func TestStories(t *testing.T) {
	t.Parallel()
	storytest.Run(t, *update, func(t *testing.T) func(string) []string {
		s := newStory(t)
		return func(line string) []string { return s.tell(strings.Fields(line)) }
	})
}

// story is a machine with names for what it makes.
type story struct {
	t          testing.TB
	now        time.Duration
	starts     int
	contract   ledger.Contract
	m          *Machine
	book       *book.Book
	blocks     []ledger.Block
	disk       disk
	backup     disk
	stores     []Store
	judges     []Judge
	number     uint64 // of coordinators' requests
	inc        map[ledger.Account]byte
	keys       map[ledger.Sequence]string
	seqs       map[string]ledger.Sequence
	payloads   map[string]ledger.Hash
	attempts   []ledger.Hash
	wholes     []wire.Whole
	ids        []ledger.Hash
	last       map[string]ledger.Hash // of a key: the last delegation
	made       map[string]ledger.Hash // of a key: the last attempt
	delegates  map[ledger.Account]wire.RequestID
	lists      map[ledger.Account]wire.RequestID
	repeatable map[string]wire.Message
}

func newStory(t testing.TB) *story {
	s := &story{
		t: t, contract: testContract(), disk: newDisk(), backup: newDisk(), inc: map[ledger.Account]byte{}, keys: map[ledger.Sequence]string{}, seqs: map[string]ledger.Sequence{},
		payloads: map[string]ledger.Hash{}, last: map[string]ledger.Hash{}, made: map[string]ledger.Hash{}, delegates: map[ledger.Account]wire.RequestID{},
		lists: map[ledger.Account]wire.RequestID{}, repeatable: map[string]wire.Message{},
	}
	s.contract.Life, s.contract.Depth, s.contract.Range = 10, 2, 5
	s.start()
	return s
}

func (s *story) start() {
	s.starts++
	s.stores, s.judges = nil, nil
	c := model.Fake{}
	b, err := book.New(book.Config{Contract: s.contract, Scheme: c, Rules: tokens{}})
	if err != nil {
		s.t.Fatal(err)
	}
	head := uint64(len(s.blocks))
	final := head - min(head, s.contract.Depth)
	for _, w := range s.wholes {
		_, _ = b.Hear(w)
	}
	for _, block := range s.blocks[:final] {
		_ = b.Block(block)
	}
	s.book = b
	committee, err := ranking.NewCommittee(s.contract.Address, []string{"a", "b", "c"}, s.contract.Range, turns{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.m = New(Config{
		Self: self, Contract: &s.contract, Committee: &committee, Scheme: c, Rules: tokens{}, Book: b, Secret: [32]byte{1}, Incarnation: wire.Incarnation{byte(s.starts)}, Lineage: uint64(s.starts),
		Load: Load{Final: final, Head: head, Intents: s.disk.loaded()},
	})
	watch(s.t, s.m)
}

// play tells several lines, and returns the actions of the last.
func (s *story) play(lines ...string) (done []string) {
	for _, line := range lines {
		done = s.tell(strings.Fields(line))
	}
	return done
}

// step feeds the machine.
func (s *story) step(in Input) (done []string) {
	for _, a := range s.m.Step(s.now, in) {
		done = append(done, s.say(a))
	}
	return done
}

func (s *story) tell(words []string) (done []string) {
	at := ledger.Account("")
	if len(words) > 1 {
		at = ledger.Account(words[1])
	}
	switch words[0] {
	case "submit":
		in := IntentRow{Key: words[1]}
		if until, is := strings.CutPrefix(words[len(words)-1], "deadline="); is {
			in.Deadline, _ = strconv.ParseUint(until, 10, 64)
			words = words[:len(words)-1]
		}
		in.Payload = []byte(strings.Join(words[2:], " "))
		s.payloads[words[1]] = domain.PayloadHash(in.Payload)
		return s.step(in)
	case "stored":
		if len(s.stores) == 0 {
			return []string{"nothing is being stored"}
		}
		store := s.stores[0]
		s.stores = s.stores[1:]
		s.disk.write(store)
		return s.step(Stored{ID: store.ID})
	case "twice":
		return s.step(Twice{Sequence: s.seqs[words[1]]})
	case "cancel":
		return s.step(Cancel{Sequence: s.seqs[words[1]]})
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		for end := s.now + d; s.now < end; {
			s.now += min(50*time.Millisecond, end-s.now)
			done = append(done, s.step(Tick{})...)
		}
		return done
	case "block", "rewind":
		return s.chain(words)
	case "judged":
		return s.judged(words[1:])
	case "crash", "restore", "backup":
		return s.disks(words)
	case "status":
		for _, st := range s.m.Snapshot() {
			done = append(done, fmt.Sprintf("%s is %v, with %q under %s, grants %d, failures %d, not before %v: %s", st.Key, st.State, string(st.Coordinator), s.delegation(st.Delegation), st.Grants, st.Failures, st.NotBefore, st.Why))
		}
		return append(done, fmt.Sprint("idle: ", s.m.Idle()))
	case "beat":
		p := Pulse{From: at, Incarnation: s.incarnation(at)}
		for _, key := range words[2:] {
			p.Pulse.Digest.Add(s.seqs[key], 1)
		}
		return s.step(p)
	case "again": // the last message of a kind, once more
		return s.step(Received{From: at, Message: s.repeatable[string(at)+" "+words[2]]})
	case "restarted": // the coordinator has another incarnation
		s.inc[at]++
		return nil
	}
	msg := s.message(words[0], at, words[2:])
	s.repeatable[string(at)+" "+words[0]] = msg
	return s.step(Received{From: at, Message: msg})
}

func (s *story) incarnation(a ledger.Account) wire.Incarnation {
	return wire.Incarnation{a[0], s.inc[a] + 1}
}

func (s *story) message(kind string, from ledger.Account, args []string) wire.Message {
	s.number++
	msg := wire.Message{Contract: s.contract.Address, Request: wire.RequestID{Incarnation: s.incarnation(from), Number: s.number}}
	step := func(arg string) wire.Step {
		key, id, is := strings.Cut(arg, "/")
		d := s.last[key]
		if is {
			n, _ := strconv.Atoi(id[1:])
			d = s.ids[n-1]
		}
		return wire.Step{Sequence: s.seqs[key], Delegation: d}
	}
	switch kind {
	case "accepted":
		msg.Request, msg.Body = s.delegates[from], wire.Accepted{}
	case "rejected":
		msg.Request, msg.Body = s.delegates[from], wire.Rejected{Why: whyNamed(s.t, args[0])}
	case "assemble":
		body := wire.Assemble{Context: wire.Context{Version: s.number}}
		for _, arg := range args {
			if base, is := strings.CutPrefix(arg, "base="); is {
				body.Context.Base, _ = strconv.ParseUint(base, 10, 64)
			} else {
				body.Items = append(body.Items, step(arg))
			}
		}
		msg.Body = body
	case "ask":
		body := wire.AskGrant{By: from}
		for _, arg := range args {
			arg, attempt, is := strings.Cut(arg, "=")
			g := wire.GrantStep{Step: step(arg), Assembled: s.made[strings.Split(arg, "/")[0]]}
			if is {
				g.Assembled = s.attempt(attempt)
			}
			body.Items = append(body.Items, g)
		}
		msg.Body = body
	case "dispatched":
		var body wire.Dispatched
		for _, arg := range args {
			key, attempt, _ := strings.Cut(arg, "=")
			body.Items = append(body.Items, wire.Handed{Sequence: s.seqs[key], Assembled: s.attempt(attempt)})
		}
		msg.Body = body
	case "returned":
		body := wire.Returned{Why: whyNamed(s.t, args[0])}
		for _, arg := range args[1:] {
			body.Items = append(body.Items, step(arg))
		}
		msg.Request, msg.Body = wire.RequestID{}, body
	case "list":
		var body wire.List
		for _, key := range args {
			body.Sequences = append(body.Sequences, s.seqs[key])
		}
		msg.Request, msg.Body = s.lists[from], body
	default:
		s.t.Fatalf("no such input: %s", kind)
	}
	return msg
}

func whyNamed(t testing.TB, word string) wire.Why {
	for w := wire.Done; w <= wire.Malformed; w++ {
		if strings.ReplaceAll(w.String(), " ", "-") == word {
			return w
		}
	}
	t.Fatalf("no such reason: %s", word)
	return 0
}

// chain reads a block: of each key the attempt that it has ("=" and its name), with ":" why it was skipped; "other" is
// another payload, "cancelled" a cancellation. Or it reads to which block the chain is rewound.
func (s *story) chain(words []string) []string {
	if words[0] == "rewind" {
		to, _ := strconv.Atoi(words[1])
		s.blocks = s.blocks[:to]
		_ = s.book.Rewind(ledger.Rewind{To: uint64(to)})
		return s.step(ledger.Rewind{To: uint64(to)})
	}
	b := ledger.Block{Number: uint64(len(s.blocks) + 1)}
	for _, word := range words[1:] {
		key, what, _ := strings.Cut(word, "=")
		what, reason, _ := strings.Cut(what, ":")
		f := ledger.Fact{Intent: ledger.Intent{Owner: self, Sequence: s.seqs[key]}}
		switch what {
		case "other":
			f.Payload, f.Assembled = ledger.Hash{9}, ledger.Hash{8}
		case "cancelled":
		default:
			f.Payload, f.Assembled = s.payloads[key], s.attempt(what)
		}
		for r := ledger.Taken; r <= ledger.Missing; r++ {
			if reason != "" && strings.ReplaceAll(r.String(), " ", "-") == reason {
				f.Skipped = r
			}
		}
		b.Facts = append(b.Facts, f)
	}
	s.blocks = append(s.blocks, b)
	_ = s.book.Block(b)
	return s.step(b)
}

// judged answers the oldest Judge, and reads "judged k1=alive,dead k2=done:attempt k3=other". What is not named has not landed,
// and its grants are alive.
func (s *story) judged(args []string) []string {
	if len(s.judges) == 0 {
		return []string{"nothing is asked"}
	}
	j := s.judges[0]
	s.judges = s.judges[1:]
	in := Judged{Number: s.final()}
	for _, q := range j.Questions {
		a := Answer{Sequence: q.Sequence, Ends: make([]grants.End, len(q.Given))}
		for _, arg := range args {
			key, what, _ := strings.Cut(arg, "=")
			if what, attempt, _ := strings.Cut(what, ":"); s.seqs[key] != q.Sequence {
				continue
			} else if what == "done" {
				a.Landed, a.Assembled, a.Payload = true, s.attempt(attempt), s.payloads[key]
			} else if what == "other" {
				a.Landed, a.Assembled, a.Payload = true, ledger.Hash{8}, ledger.Hash{9}
			} else {
				for i, end := range strings.Split(what, ",") {
					a.Ends[i] = map[string]grants.End{"alive": grants.Alive, "dead": grants.Overdue, "spent": grants.Spent, "landed": grants.Landed}[end]
				}
			}
		}
		in.Answers = append(in.Answers, a)
	}
	return s.step(in)
}

func (s *story) final() uint64 {
	n := uint64(len(s.blocks))
	return n - min(n, s.contract.Depth)
}

// disks reads "crash" (what is not committed is lost), "crash kept" (it is committed, and the machine did not hear of
// it), "backup" and "restore".
func (s *story) disks(words []string) (done []string) {
	switch {
	case words[0] == "backup":
		s.backup = s.disk.clone()
		return nil
	case words[0] == "restore":
		s.disk = s.backup.clone()
	case len(words) > 1:
		for _, store := range s.stores {
			s.disk.write(store)
		}
	}
	s.start()
	done = s.step(Tick{})
	for _, b := range s.blocks[s.final():] {
		_ = s.book.Block(b)
		done = append(done, s.step(b)...)
	}
	return done
}
