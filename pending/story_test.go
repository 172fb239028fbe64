package pending

import (
	"flag"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/storytest"
)

var update = flag.Bool("update", false, "rewrite the actions in the stories")

// S15, S19, S20, S24, S26. In a story in testdata a line is an input, and the indented lines after
// it are the actions that it causes.
func TestStories(t *testing.T) {
	t.Parallel()
	storytest.Run(t, *update, func(t *testing.T) func(string) []string {
		m := newMachine(settings{
			MaxInFlight: 4, MaxBatch: 3, ResendAfter: 2, RaiseAfter: 4 * time.Second, FillAfter: 6, MostRaise: 10, FinalAfter: 3 * time.Hour, SearchAfter: 2, RejectAfter: 15 * time.Second,
			Retry: time.Second, Patience: time.Hour,
		})
		now := fence.Instant(time.Hour)
		m.finding.lookBy = now.Add(time.Hour)
		return func(line string) (done []string) {
			words := strings.Fields(line)
			if words[0] == "limits" { // before all else
				args := arguments(words[1:])
				m.set.MaxInFlight, m.set.MaxBatch = int(args.number("flight")), int(args.number("batch"))
				m.sending.window, m.signing.most, m.pace.mostRead = newWindow(m.set.MaxInFlight), m.set.MaxBatch, m.set.MaxBatch
				return nil
			}
			if words[0] == "held" { // for the stories of slots that leave
				n, _ := strconv.Atoi(words[1])
				m.set.Held = held{Most: n, Guests: n, Page: max(1, n/2), Depth: 1}
				return nil
			}
			if words[0] == "noindex" {
				m.set.NoIndex = true
				return nil
			}
			if words[0] == "lives" {
				m.set.Lives = true
				return nil
			}
			if words[0] == "era" {
				m.set.Era = number(words[1])
				return nil
			}
			if words[0] == "patience" { // in blocks, before a nonce that is used is searched for
				m.set.SearchAfter = number(words[1])
				return nil
			}
			if words[0] == "still" {
				m.set.StillAfter, _ = time.ParseDuration(words[1])
				return nil
			}
			if words[0] == "restore" {
				m.set.RestoreWait, _ = time.ParseDuration(words[1])
				return nil
			}
			if words[0] == "wait" || words[0] == "pace" {
				d, err := time.ParseDuration(words[1])
				if err != nil {
					t.Fatal(err)
				}
				if words[0] == "pace" {
					m.set.Pace = d
					return nil
				}
				now = now.Add(d)
				words = []string{"tick"}
			}
			for _, a := range m.Step(now, parse(t, words)) {
				done = append(done, say(a))
			}
			return done
		}
	})
}

// parse reads one input. 5a names the first attempt for nonce 5, 5b the second, and 5x another
// sender's transaction. A block's name is its number and a letter for its branch.
func parse(t *testing.T, words []string) input {
	t.Helper()
	args := arguments(words[1:])
	switch words[0] {
	case "loaded":
		in := loaded{Best: args.number("best"), Pooled: args.number("pooled")}
		in.Snapshot = Snapshot{Waits: waitsOf(args), Next: args.number("next"), Since: args.number("since"), Strange: args.has("strange")}
		in.Snapshot.Life = Life{Number: args.number("life"), First: args.number("first"), Since: args.number("born"), Over: args.has("over")}
		in.Snapshot.Until, in.Snapshot.Begun = args.number("lasts"), args.has("begun")
		for _, name := range args.list("slots") {
			in.Snapshot.Slots = append(in.Snapshot.Slots, args.wearing(slotNamed(name)))
		}
		for _, name := range args.list("runs") {
			in.Snapshot.Runs = append(in.Snapshot.Runs, runNamed(name))
		}
		return in
	case "paged":
		in := paged{From: args.number("from"), To: args.number("to")}
		for _, name := range args.list("slots") {
			in.Slots = append(in.Slots, slotNamed(name))
		}
		return in
	case "woken":
		in := woken{Waits: waitsOf(args), Counted: args.has("counted")}
		for _, name := range args.list("cancel") {
			in.Cancels = append(in.Cancels, number(name))
		}
		return in
	case "stored":
		in := stored{Left: int(args.number("left"))}
		if waits := waitsOf(args); args.has("poor") || args.has("odd") {
			in.Waits = &waits
		}
		for _, name := range args.list("slots") {
			in.Slots = append(in.Slots, args.wearing(slotNamed(name)))
		}
		in.Hold = map[string]error{"": nil, "funds": chain.ErrFunds, "owed": chain.ErrOwed, "fee": chain.ErrFee, "key": chain.ErrKey}[args.word("hold")]
		if args.has("unclear") {
			in.Hold = &heldError{ID{byte(args.number("unclear"))}, chain.ErrUnclear}
		}
		for _, name := range args.list("unsigned") {
			at, why, _ := strings.Cut(name, ":")
			u := unsigned{Index: number(at), Why: map[string]error{"fee": chain.ErrFee, "dearer": fmt.Errorf("%w: even more", chain.ErrFee), "call": chain.ErrCall, "enough": chain.ErrEnough}[why]}
			if in.Unsigned = append(in.Unsigned, u); why != "enough" {
				in.Hold = u.Why
			}
		}
		return in
	case "sent":
		var in sent
		for _, pair := range args.rest {
			name, verdict, _ := strings.Cut(pair, "=")
			verdict, text, _ := strings.Cut(verdict, ":")
			text, by, _ := strings.Cut(text, "@")
			in.Attempts = append(in.Attempts, chain.Signed{Index: index(name), Hash: chain.Hash(name)})
			in.Outcomes = append(in.Outcomes, chain.Outcome{Verdict: verdictNamed(t, verdict), Text: text, By: by})
		}
		return in
	case "seen":
		var in seen
		for _, pair := range args.rest {
			name, where, _ := strings.Cut(pair, "=")
			var one chain.Sighting
			switch where {
			case "nowhere":
			case "pooled":
				one.Pooled = true
			default:
				where, one.Effect = effectNamed(where)
				one.Block = blockNamed(where)
			}
			in.Hashes, in.Sightings = append(in.Hashes, lookup{Index: index(name), Hash: chain.Hash(name)}), append(in.Sightings, one)
		}
		return in
	case "found":
		in := found{Recall: args.has("recall"), Life: args.has("life"), From: args.number("from"), Index: args.number("index"), Next: args.number("next")}
		for _, pair := range args.rest {
			name, block, _ := strings.Cut(pair, "=")
			in.Placed = append(in.Placed, chain.Inclusion{Index: index(name), Hash: chain.Hash(name), Block: blockNamed(block), Effect: chain.EffectOf(false)})
		}
		if args.has("reaped") {
			in.Placed = append(in.Placed, chain.Inclusion{Block: blockNamed(args.word("reaped")), Reaped: true})
		}
		return in
	case "linked":
		in := linked{Of: blockNamed(args.word("of"))}
		for _, pair := range args.rest {
			name, block, _ := strings.Cut(pair, "=")
			block, not := strings.CutPrefix(block, "!")
			in.Slots, in.Are = append(in.Slots, place{Index: index(name), Block: blockNamed(block)}), append(in.Are, !not)
		}
		return in
	case "confirmed":
		return parseConfirmed(args)
	case "surveyed":
		in := surveyed{Of: blockNamed(args.word("of")), Next: args.number("next"), First: args.number("first")}
		for _, name := range args.list("proven") {
			in.Proven = append(in.Proven, number(name))
		}
		if args.has("clash") {
			in.Clash = ID{byte(args.number("clash"))}
		}
		return in
	case "applied", "reverted", "finalized":
		in := turned{Turn: chain.Turn{Block: blockNamed(words[1]), By: args.word("by")}, Count: args.number("count"), Version: args.word("version")}
		in.Turn.Kind = map[string]chain.TurnKind{"applied": chain.Applied, "reverted": chain.Reverted, "finalized": chain.Finalized}[words[0]]
		for _, name := range args.list("with") {
			if name == "reaped" {
				in.Inclusions = append(in.Inclusions, chain.Inclusion{Block: in.Turn.Block, Reaped: true})
				continue
			}
			name, effect := effectNamed(name)
			in.Inclusions = append(in.Inclusions, chain.Inclusion{Index: index(name), Hash: chain.Hash(name), Block: in.Turn.Block, Effect: effect})
		}
		return in
	case "saved":
		return saved{}
	case "lost":
		return lost{}
	case "raised":
		return raised{}
	case "rested":
		return rested{}
	case "tick":
		return tick{}
	case "broke":
		return broke{Action: map[string]action{
			"load": load{}, "assign": assign{Most: 3}, "replace": replace{}, "save": save{}, "probe": probe{Hashes: make([]lookup, 3)}, "search": search{}, "recall": search{Recall: true},
			"link": link{}, "confirm": confirm{Claims: make([]claim, 3)}, "survey": survey{}, "page": page{},
		}[words[1]], Unsure: args.has("unsure")}
	}
	t.Fatalf("no such input: %s", words[0])
	return nil
}

// waitsOf reads how many intents wait, and how many others pass since they are poor, or since a node's words about them are odd.
func waitsOf(args words) Waits {
	return Waits{Queued: int(args.number("queued")), Poor: int(args.number("poor")), Unclear: int(args.number("odd"))}
}

// parseConfirmed reads second opinions, such as 5a@7=agrees for an attempt in block 7, 5x@7=own for
// one that the store has lost, 5x@7=unproven, 5@7=agrees for the count as of block 7, and 5-@7=agrees for block 7 alone. Of the end of a
// life it is reaped@7=agrees, and block@9=agrees for the block up to which the old attempts are looked for.
func parseConfirmed(args words) (in confirmed) {
	for _, what := range []string{"reaped@", "block@"} {
		for name, word := range args.named {
			if block, is := strings.CutPrefix(name, what); is {
				about := claim{Claim: chain.Claim{Inclusion: chain.Inclusion{Index: noFinal, Block: blockNamed(block), Reaped: what == "reaped@"}}}
				about.Said = chain.Opinion{By: "second", Why: "its words", Stand: map[string]chain.Stand{"mute": chain.Mute, "differs": chain.Differs, "agrees": chain.Agrees}[word]}
				in.Claims = append(in.Claims, about)
			}
		}
	}
	for _, pair := range args.rest {
		name, word, _ := strings.Cut(pair, "=")
		hash, block, _ := strings.Cut(name, "@")
		about := claim{Claim: chain.Claim{Inclusion: chain.Inclusion{Index: index(hash), Hash: chain.Hash(hash), Block: blockNamed(block)}}}
		about.Said = chain.Opinion{By: "second", Why: "its words", Blind: word == "blind"}
		about.Said.Stand = map[string]chain.Stand{"mute": chain.Mute, "differs": chain.Differs, "agrees": chain.Agrees, "blind": chain.Agrees, "own": chain.Agrees, "unproven": chain.Agrees}[word]
		if digits := strings.TrimSuffix(hash, "-"); fmt.Sprint(about.Index) == digits { // a nonce alone
			about.Hash, about.Counts = "", digits == hash
		}
		if about.Own = word == "own"; word == "unproven" {
			about.Unproven = "its words"
		}
		in.Claims = append(in.Claims, about)
	}
	return in
}

type words struct {
	named map[string]string
	rest  []string
}

func arguments(list []string) words {
	w := words{named: map[string]string{}}
	for _, word := range list {
		name, value, valued := strings.Cut(word, "=")
		w.named[name] = value
		if word[0] >= '0' && word[0] <= '9' && valued {
			for _, one := range spread(name) {
				w.rest = append(w.rest, one+"="+value)
			}
		}
	}
	return w
}

// spread returns the attempts of a range, such as 3a..9a.
func spread(name string) (names []string) {
	from, to, is := strings.Cut(name, "..")
	if !is {
		return []string{name}
	}
	for i := index(from); i <= index(to); i++ {
		names = append(names, fmt.Sprint(i)+strings.TrimLeft(from, "0123456789"))
	}
	return names
}

// gathered is the reverse of spread: of attempts in a row, where they are many.
func gathered(attempts []chain.Signed) (names []string) {
	const many = 6
	for len(attempts) > 0 {
		n, first := 1, string(attempts[0].Hash)
		for n < len(attempts) && string(attempts[n].Hash) == fmt.Sprint(attempts[0].Index+uint64(n))+strings.TrimLeft(first, "0123456789") {
			n++
		}
		if n < many {
			names, attempts = append(names, first), attempts[1:]
			continue
		}
		names, attempts = append(names, first+".."+string(attempts[n-1].Hash)), attempts[n:]
	}
	return names
}

func (w words) has(name string) bool      { _, ok := w.named[name]; return ok }
func (w words) word(name string) string   { return w.named[name] }
func (w words) number(name string) uint64 { return number(w.named[name]) }
func (w words) list(name string) (all []string) {
	for _, one := range strings.FieldsFunc(w.named[name], func(r rune) bool { return r == ',' }) {
		all = append(all, spread(one)...)
	}
	return all
}

// effectNamed reads the effect behind a name: 5a! has reverted, 5a% was carried out in part, of 5a? it is not known.
func effectNamed(name string) (string, chain.Effect) {
	of := map[byte]chain.Effect{'!': chain.EffectOf(true), '%': {Kind: chain.EffectPartly, Why: "B"}, '?': {}}
	if e, is := of[name[len(name)-1]]; is {
		return name[:len(name)-1], e
	}
	return name, chain.EffectOf(false)
}

// wearing returns a slot whose attempts wear out: until=64 version=1.
func (w words) wearing(s Slot) Slot {
	for i := range s.Attempts {
		s.Attempts[i].Until, s.Attempts[i].Version = w.number("until"), w.word("version")
	}
	return s
}

func number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

// index returns the nonce in an attempt's name.
func index(name string) uint64 { return number(strings.TrimRight(name, "abcdefgxyzA!-")) }

func blockNamed(name string) chain.Block {
	return chain.Block{Number: number(strings.TrimRight(name, "abc'")), Hash: chain.Hash(name)}
}

// slotNamed reads a slot: 5a, 5ab (two attempts), 5ab! (the second is a filler), 5a~ (to be
// cancelled), 5a^ (its intent has another slot), 5a@7 (stored as in block 7), 5a@7%2h (two hours ago),
// 5a@7%2h! (its timeout was stored then), 5a$ (stored as stuck at the limit of fees),
// 5a@7# (stored as final in block 7).
func slotNamed(name string) Slot {
	name, final := strings.CutSuffix(name, "#")
	name, block, _ := strings.Cut(name, "@")
	block, age, _ := strings.Cut(block, "%")
	age, timedOut := strings.CutSuffix(age, "!")
	name, atLimit := strings.CutSuffix(name, "$")
	cancel, gone := strings.HasSuffix(name, "~"), strings.HasSuffix(name, "^")
	name = strings.TrimRight(name, "~^")
	digits := strings.TrimRight(name, "abcdefgA!")
	s := Slot{Index: number(digits), Cancel: cancel, Since: 100}
	letters := name[len(digits):]
	for i, letter := range letters {
		if letter == '!' {
			continue
		}
		filler := i+1 < len(letters) && letters[i+1] == '!'
		s.Attempts = append(s.Attempts, chain.Signed{
			Index: s.Index, Hash: chain.Hash(digits + string(letter)), Fee: feeOf(letter), Gas: 21_000,
			Filler: filler,
		})
		if !filler {
			id := ID{byte(s.Index)}
			s.Intent = &id
		}
	}
	if gone {
		s.Intent = nil
	}
	if atLimit {
		s.Last.Waits = "fees: too much"
	}
	if block != "" {
		s.Last = Change{Index: s.Index, Status: InBlock, Hash: s.Attempts[len(s.Attempts)-1].Hash, Block: blockNamed(block), Effect: chain.EffectOf(false)}
		s.Age, _ = time.ParseDuration(age)
	}
	if timedOut {
		s.Last.Status = FinalityTimeout
	}
	if s.Final = final; final {
		s.Last.Status = Finalized
	}
	return s
}

// runNamed reads a run: 5-7@3 (stored as in block 3), 5-7@3! (and as late).
func runNamed(name string) Run {
	name, late := strings.CutSuffix(name, "!")
	nonces, block, _ := strings.Cut(name, "@")
	first, last, _ := strings.Cut(nonces, "-")
	return Run{First: number(first), Last: number(last), Block: blockNamed(block), Late: late}
}

// feeOf returns a fee that rises with the letter. A capital pays a thousand times more.
func feeOf(letter rune) chain.Fee {
	if letter < 'a' {
		return chain.Fee{Tip: big.NewInt(1000 * int64(letter))}
	}
	return chain.Fee{Tip: big.NewInt(int64(letter))}
}

func verdictNamed(t *testing.T, word string) chain.Verdict {
	t.Helper()
	for v := chain.Unknown; v <= chain.Outworn; v++ {
		if strings.ReplaceAll(v.String(), " ", "-") == word {
			return v
		}
	}
	t.Fatalf("no such verdict: %s", word)
	return 0
}

// say returns an action as a line of a story.
func say(a action) string {
	var w strings.Builder
	switch a := a.(type) {
	case load:
		w.WriteString("load")
		if a.Final < noFinal {
			fmt.Fprintf(&w, ", the final ones from %d on too", a.Final)
		}
	case assign:
		fmt.Fprintf(&w, "assign %d most %d", a.First, a.Most)
	case replace:
		w.WriteString("replace")
		for _, one := range a.Replacements {
			fmt.Fprintf(&w, " %d", one.Index)
			if one.Filler {
				w.WriteString("!")
			}
			if one.Gap {
				w.WriteString(" (gap)")
			}
			if one.Stuck {
				w.WriteString(" (stuck)")
			}
			if one.Brief {
				w.WriteString(" (pad)")
			}
			if n := len(one.Outworn); n > 0 {
				w.WriteString(" (as " + string(one.Outworn[n-1]) + ")")
			}
			if one.Gas == 0 && !one.Filler {
				w.WriteString(" (its gas anew)")
			}
		}
	case submit:
		w.WriteString("submit")
		if a.Front {
			w.WriteString(" first:")
		}
		for _, name := range gathered(a.Attempts) {
			w.WriteString(" " + name)
		}
	case probe:
		w.WriteString("probe")
		for _, one := range a.Hashes {
			w.WriteString(" " + string(one.Hash))
		}
	case search:
		fmt.Fprintf(&w, "search %d from %d of %s", a.Index, a.From, string(a.Of.Hash))
		if a.Life {
			w.Reset()
			fmt.Fprintf(&w, "search for the life from %d of %s", a.From, string(a.Of.Hash))
		}
		if a.Recall {
			w.Reset()
			fmt.Fprintf(&w, "recall from %d of %s", a.From, string(a.Of.Hash))
		}
	case survey:
		fmt.Fprintf(&w, "survey %d from %d of %s", a.First, a.From, string(a.Of.Hash))
		if a.Still {
			w.WriteString(" still")
		}
	case link:
		fmt.Fprintf(&w, "link of=%s", string(a.Of.Hash))
		for _, one := range a.Slots {
			fmt.Fprintf(&w, " %d=%s", one.Index, string(one.Block.Hash))
		}
	case confirm:
		w.WriteString("confirm")
		for _, one := range a.Claims {
			if one.Still {
				w.WriteString(" still")
			}
			if one.Counts {
				fmt.Fprintf(&w, " %d@%s (its count)", one.Index, string(one.Block.Hash))
				continue
			}
			if one.Index == noFinal {
				fmt.Fprintf(&w, " %s@%s", map[bool]string{true: "reaped", false: "block"}[one.Reaped], string(one.Block.Hash))
				continue
			}
			if one.Hash == "" {
				fmt.Fprintf(&w, " %d-@%s (the block)", one.Index, string(one.Block.Hash))
				continue
			}
			fmt.Fprintf(&w, " %s@%s", string(one.Hash), string(one.Block.Hash))
			if one.Foreign {
				w.WriteString("?")
			}
		}
	case page:
		fmt.Fprintf(&w, "page %d-%d", a.From, a.To)
	case save:
		w.WriteString("save")
		for _, c := range a.Changes {
			fmt.Fprintf(&w, " %s:%s", string(c.Hash), c.Status)
			if c.Block.Hash != "" {
				w.WriteString("@" + string(c.Block.Hash))
			}
			if c.Block.Hash != "" && c.Hash != "" { // no transaction has used a vacant nonce
				w.WriteString(map[chain.EffectKind]string{chain.EffectUnknown: "?", chain.EffectFailed: "!", chain.EffectPartly: "%"}[c.Effect.Kind])
			}
			if c.Intent != Open {
				w.WriteString("→" + c.Intent.String())
			}
			if c.Why != "" {
				fmt.Fprintf(&w, " (%s)", c.Why)
			}
			if c.Waits != "" {
				fmt.Fprintf(&w, " [%s]", c.Waits)
			}
		}
		if a.Opens != nil {
			fmt.Fprintf(&w, " life %d from %d on, above block %d", a.Opens.Number, a.Opens.First, a.Opens.Since)
		}
		if a.Hold != nil {
			why, _, _ := strings.Cut(a.Hold.Why, ";")
			fmt.Fprintf(&w, " hold (%s)", why)
		}
	case Alarm:
		fmt.Fprintf(&w, "alarm %s", a.Cause)
		if !a.Whole {
			fmt.Fprintf(&w, " %d", a.Index)
		}
		if a.Intent != (ID{}) {
			fmt.Fprintf(&w, " of intent %d", a.Intent[0])
		}
		if !a.Raised {
			w.WriteString(" over")
		}
	}
	return w.String()
}
