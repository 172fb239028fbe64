package ui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
)

// trading is a node whose accounts have transactions.
func trading(t *testing.T, is string) *node {
	t.Helper()
	n := watched(t)
	n.trades(is)
	return n
}

// counted returns how often a path was asked for, and what was posted.
func (n *node) counted(path string) (times int, bodies []object) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, one := range n.ledger.asked {
		if strings.HasPrefix(one, path) {
			times++
		}
	}
	return times, slices.Clone(n.ledger.bodies)
}

// F8, S32: the page says in words whether anything is in the way of transactions, what it is for each account, which alarm is raised and what to do
// about it, and links to what is in the way.
func TestTransactionsSayWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	n := trading(t, "well")
	b := open(t, n.URL+"/#/transactions", desk)
	b.says("Nothing is in the way, as far as this node knows")
	b.says("3 transactions queued, 3 sent and not final; the oldest that is in no block was accepted")
	b.until("it says who sends", "/sent by\\s+node-2/.test(document.querySelector('.card').innerText)")
	b.says("Its alarms are known to the node that leads it.")
	n.trades("trouble")
	js[bool](b, "location.reload(); true")
	b.says("1 of 2 accounts needs somebody: funds, unsignable")
	b.says("In the way for 41 min: behind transaction " + txID(41) + ": it cannot pay")
	b.until("a word for what is in the way is not one for a usual step", "[...document.querySelectorAll('.transactions .virtual .row')].some((e) => e.innerText.includes('held up: behind transaction')) && !document.querySelector('main').innerText.includes('waits for behind')")
	b.says("✕ funds for 41 min: the account cannot pay")
	b.says("“it has 3000000000000 wei”. What to do: fund it; no nonce was used up.")
	b.says("unsignable for 6 min, nonce 433")
	b.says("4, 1 being filled")
	if got := js[string](b, "[...document.querySelectorAll('.obstacle a')].find((a) => a.innerText === 'The one in the way').hash"); got != "#/transactions/t?id="+txID(41) {
		t.Errorf("the link leads to %s", got)
	}
}

// F8: the page says what is left of each token's policy, and which limit is used up.
func TestPoliciesSayWhatIsLeft(t *testing.T) {
	t.Parallel()
	n := trading(t, "trouble")
	n.mu.Lock()
	n.ledger.policies[1]["token"] = hostile
	n.mu.Unlock()
	b := open(t, n.URL+"/#/transactions", desk)
	const rows = "[...document.querySelectorAll('[aria-label=Policies] tbody tr')].map((e) => e.innerText.replace(/\\s+/g, ' ').trim())"
	b.until("each limit has a line", rows+".length === 4")
	for i, want := range []string{"payout evm:1337 cancel, read others value_a_day ! 0 5,000,000,000,000,000,000", "count_a_minute 58 60", "1,500,000,000 2,000,000,000", "no amount is limited"} {
		if got := js[[]string](b, rows)[i]; !strings.Contains(got, want) {
			t.Errorf("line %d is %q, want %q in it", i, got, want)
		}
	}
	b.inert("policies")
	n.away(43 * time.Second)
	b.until("they are what was before", "document.querySelector('[aria-label=Policies].old') && !document.querySelector('[aria-label=Policies]').innerText.includes('!')")
}

// Rule 1: with the database away no account and no transaction that is under way is told as if it were so now, what has ended stays ended, and
// no button does anything; then the page is live again, without a reload.
func TestTransactionsAreStale(t *testing.T) {
	t.Parallel()
	n := trading(t, "well")
	b := open(t, n.URL+"/#/transactions", desk)
	b.says("Nothing is in the way, as far as this node knows")
	b.until("the list is there", "document.querySelectorAll('.transactions .virtual .row').length > 4")
	js[bool](b, "self.same = true")
	n.away(43 * time.Second)
	b.says("Not known: the database has not answered")
	for what, expression := range map[string]string{
		"an account is well":                   "[...document.querySelectorAll('.card .state')].some((e) => !e.innerText.includes('not known now'))",
		"an account has the colour of well":    "document.querySelector('.card.good')",
		"somebody sends":                       "/sent by\\s+node/.test(document.querySelector('main').innerText)",
		"a button sends":                       "[...document.querySelectorAll('.card button')].some((e) => !e.disabled)",
		"the first transaction is queued":      "!document.querySelector('.transactions .virtual .row').innerText.includes('not known now')",
		"one that is done is not known":        "[...document.querySelectorAll('.transactions .virtual .row')].at(-1).innerText.includes('not known')",
		"the curves are told as of now":        "!document.querySelector('.chart.old')",
		"the page forgot what was before":      "document.querySelectorAll('.card').length !== 2",
		"the list does not say that it is old": "!document.querySelector('main').innerText.includes('what has happened since is not known now')",
	} {
		if js[bool](b, "!!("+expression+")") {
			t.Errorf("while the database is away %s", what)
		}
	}
	b.at("#/transactions/t?id=" + txID(43))
	b.says("Not known:")
	n.away(0)
	b.says("Waits")
	b.until("it can be cancelled", "[...document.querySelectorAll('button')].some((e) => e.innerText === 'Cancel…' && !e.disabled)")
	n.away(time.Second)
	b.says("This was so before.")
	if js[bool](b, "[...document.querySelectorAll('button')].some((e) => e.innerText === 'Cancel…' && !e.disabled)") {
		t.Error("while the database is away it can be cancelled")
	}
	b.at("#/transactions")
	b.until("a page that is opened again has what it had, as what was before", "document.querySelectorAll('.card.unknown').length === 2 && document.querySelector('.chart.old')")
	n.away(0)
	b.at("#/transactions")
	b.says("Nothing is in the way, as far as this node knows")
	if !js[bool](b, "self.same === true") {
		t.Error("the page was loaded again")
	}
}

// F8: what happens to a transaction is on the page as soon as the stream tells it, and events without end neither put that off nor cost a
// request each.
func TestNewsOfTransactions(t *testing.T) {
	t.Parallel()
	n := trading(t, "well")
	b := open(t, n.URL+"/#/transactions", desk)
	b.until("the list is there", "document.querySelector('.transactions .virtual .row')?.innerText.includes('queued')")
	n.mu.Lock()
	n.ledger.rows[0] = paid(45, time.Minute)
	n.mu.Unlock()
	asked, _ := n.counted("/v1/transactions?")
	told, end := 0, time.After(5*time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for more := true; more; {
		select {
		case <-tick.C:
			told++
			n.mu.Lock()
			n.tell(n.said("transaction", object{
				"at": time.Now().UTC(), "id": txID(45), "version": told, "event": "final", "account": "payer", "chain": "evm:1337", "address": "0x4B7B9fC89D0A3cBb0e1b1c1e7a8A3CbB0E1b1C1E",
				"fate": "done", "outcome": "succeeded", "nonce": 445, "hash": txHash, "block": object{"number": 71231, "hash": txHash},
			}))
			n.mu.Unlock()
		case <-end:
			more = false
		}
	}
	b.until("it is done", "document.querySelector('.transactions .virtual .row').innerText.includes('done')")
	if again, _ := n.counted("/v1/transactions?"); again-asked < 2 || again-asked > 8 {
		t.Errorf("%d events in five seconds made the page ask %d times, want about one a second", told, again-asked)
	}
}

// F8: one transaction is a line from its acceptance to its end, with each attempt, what it offered, how long each step took, and what it waits for.
func TestATransactionIsALine(t *testing.T) {
	t.Parallel()
	n := trading(t, "trouble")
	b := open(t, n.URL+"/#/transactions/t?id="+txID(31), desk)
	b.says("Final: it is done")
	steps := js[[]string](b, "[...document.querySelectorAll('.course li')].map((e) => e.innerText.replace(/\\s+/g, ' '))")
	for i, want := range []string{
		"Accepted by node-1, and stored", "Nonce 431", "Attempt 1 signed", "Attempt 2 signed", "Attempt 3 signed, the one in the block", "In block 71,231", "Two witnesses call it final", "Final: it is done",
	} {
		if len(steps) != 8 || !strings.Contains(steps[i], want) {
			t.Fatalf("the steps are %q, want %q at %d", steps, want, i)
		}
	}
	for i, want := range map[int]string{2: "offers 12 gwei, tip 1 gwei, 21,000 gas", 3: "after 4.0 s", 4: "offers 18.75 gwei", 5: "paid 231,000 gwei, 21,000 gas", 6: "https://rpc-a.example and https://rpc-b.example", 7: "after 5.0 s"} {
		if !strings.Contains(steps[i], want) {
			t.Errorf("step %d is %q, want %q in it", i, steps[i], want)
		}
	}
	if js[bool](b, "[...document.querySelectorAll('button')].some((e) => e.innerText === 'Cancel…' && !e.disabled)") {
		t.Error("what has ended can be cancelled")
	}
	b.at("#/transactions/t?id=" + txID(43))
	b.says("Held up")
	b.says("not accepted: https://rpc-a.example: replacement transaction underpriced")
	b.at("#/transactions/t?id=" + txID(45))
	b.says("refused 82 times. The one in the way: if it is cancelled, the others go on")
	b.at("#/transactions/t?id=" + txID(26))
	b.says("execution reverted: ERC20: transfer amount exceeds balance")
	b.at("#/transactions/t?id=nobody")
	b.says("knows no transaction with this ID")
}

// F8: what has ended in part, or with an effect that nobody knows, looks like what is done nowhere: not in the list, not among what a filter
// selects, not on its own page, and not while nothing else is known. Goods are shipped for what is done and for nothing else.
func TestWhatIsNotKnownToBeDoneDoesNotLookLikeIt(t *testing.T) {
	t.Parallel()
	n := trading(t, "well")
	b := open(t, n.URL+"/#/transactions", look{width: 1440, height: 2400})
	for number, want := range map[int]struct{ outcome, mark, story, end, advice string }{
		24: {"partly", "! done in part", "a part of it was done: item 2: balances.InsufficientBalance failed", "Final, and a part of it was done", "A part of its call was carried out and cannot be undone"},
		23: {"unknown", "? final, effect not known", "nobody can say any more what it has done", "Final, and nobody can say what it has done", "it may have had its effect, a part of it, or none"},
	} {
		row := "[...document.querySelectorAll('.transactions .virtual .row')].find((e) => e.innerText.includes('" + want.story + "'))"
		looksRight := func(where string) {
			t.Helper()
			b.until("it is there "+where, row)
			if mark := js[string](b, row+".querySelector('.state').innerText"); mark != want.mark {
				t.Errorf("%s: what is %s is marked %q, want %q", where, want.outcome, mark, want.mark)
			}
			if js[bool](b, "/good|calm/.test("+row+".querySelector('.state').className)") {
				t.Errorf("%s: what is %s has the colour of what is done", where, want.outcome)
			}
		}
		b.at("#/transactions")
		looksRight("in the list")
		n.away(43 * time.Second)
		b.says("Not known: the database has not answered")
		looksRight("while the database is away")
		n.away(0)
		b.at("#/transactions?fate=" + want.outcome)
		b.until("the link selects it alone", "document.querySelectorAll('.transactions .virtual .row').length === 1 && document.querySelector('select[aria-label=Fate]').selectedOptions[0].text === '"+want.mark[2:]+"'")
		looksRight("behind a link")
		b.says("1 of 24 read")
		b.at("#/transactions?fate=succeeded")
		b.until("those that are done are there", "document.querySelectorAll('.transactions .virtual .row').length > 5")
		if js[bool](b, "Boolean("+row+")") {
			t.Errorf("what is %s is among what is done", want.outcome)
		}
		b.at("#/transactions/t?id=" + txID(number))
		b.says(want.end)
		b.says(want.advice)
		for what, expression := range map[string]string{
			"its mark":      "!document.querySelector('.one .state').innerText.includes('" + want.mark[2:] + "') || document.querySelector('.one .state.good')",
			"its edge":      "document.querySelector('.panel.one.good')",
			"its last step": "document.querySelector('.course li:last-child').className === 'good'",
		} {
			if js[bool](b, "Boolean("+expression+")") {
				t.Errorf("%s of what is %s is that of success", what, want.outcome)
			}
		}
	}
	b.at("#/transactions?fate=done")
	b.until("what is final in any way is called so", "document.querySelector('select[aria-label=Fate]').selectedOptions[0].text === 'final, whatever it did'")
}

// S32, rule 5: a cancellation says first what it will do, takes the token that operates, and asks for the very transaction.
func TestCancelSaysFirstWhatItDoes(t *testing.T) {
	t.Parallel()
	n := trading(t, "well")
	n.mu.Lock()
	n.read, n.operate = "read-0123456789abcdef", "operate-0123456789abcdef"
	n.mu.Unlock()
	b := open(t, n.URL+"/#/transactions/t?id="+txID(42), desk)
	b.fill("input[type=password]", n.read)
	b.press("Enter")
	b.press("Cancel…")
	b.says("a transaction that does nothing is sent with the same nonce and a higher fee, which payer pays")
	b.says("it may still be carried out, and most likely is, since it is in block 71,239 already")
	b.says("The node’s log has the name of your token")
	if _, bodies := n.counted(""); len(bodies) != 0 {
		t.Fatalf("before anybody has agreed it was asked for %v", bodies)
	}
	b.fill("dialog input[type=password]", n.operate)
	b.press("Unlock")
	b.press("Cancel it")
	b.says("The cancellation is stored.")
	b.press("Close")
	if _, bodies := n.counted(""); len(bodies) != 1 || bodies[0]["cancel"] != txID(42) {
		t.Errorf("asked for %v, want the cancellation of %s", bodies, txID(42))
	}
	b.at("#/transactions/t?id=" + txID(45))
	b.press("Cancel…")
	b.says("it is cancelled at once, and nothing of it reaches the chain")
}

// S32, rule 5: before something is sent, the page shows what it would do and cost, and what was changed since is looked at again. A
// key of its own makes a second request harmless.
func TestSendingLooksFirst(t *testing.T) {
	t.Parallel()
	n := trading(t, "well")
	n.ledger.would = object{"status": 422, "detail": "to: is no address"}
	b := open(t, n.URL+"/#/transactions", desk)
	b.press("Send…")
	sends := "[...document.querySelectorAll('dialog button')].some((e) => e.innerText === 'Send it' && !e.disabled)"
	b.until("the form is there", "document.querySelector('dialog input[name=to]')")
	if js[bool](b, sends) {
		t.Error("it can be sent unseen")
	}
	b.fill("dialog input[name=args]", "no JSON")
	b.press("What would it do?")
	b.says("The arguments are not JSON")
	b.fill("dialog input[name=args]", "")
	b.press("What would it do?")
	b.says("to: is no address")
	n.mu.Lock()
	n.ledger.would = object{
		"as_of": time.Now().UTC(), "account": "payer", "chain": "evm:1337", "address": "0x4B", "accepted": true, "refusal": nil, "id": nil, "works": true, "gas": 21000, "max_fee": "30000000000", "max_tip": "1", "cost": "250630000000000000", "balance": "41250000000000000000", "block": nil,
		"limits": []object{{"name": "value_a_day", "most": "1000000", "spent": "400000", "left": "600000", "until": time.Now().UTC(), "needs": "250000"}},
	}
	n.mu.Unlock()
	b.fill("dialog input[name=to]", "0x00000000000000000000000000000000000000aa")
	b.fill("dialog input[name=value]", "250000000000000000")
	b.press("What would it do?")
	b.says("It takes at most 0.2506·10¹⁸ wei from payer, which has 41.25·10¹⁸ wei: 21,000 gas at 30 gwei at most, and the value.")
	b.says("Of value_a_day it takes 250,000; 600,000 of 1,000,000 are left.")
	b.says("nobody can take it back")
	b.fill("dialog input[name=value]", "250000000000000001")
	b.until("what was changed is looked at again", "!("+sends+")")
	b.press("What would it do?")
	b.press("Send it")
	b.says("It is stored, and is sent by the node that leads the account")
	_, bodies := n.counted("")
	if len(bodies) != 1 || bodies[0]["account"] != "payer" || bodies[0]["value"] != "250000000000000001" || bodies[0]["speed"] != "normal" || !strings.HasPrefix(fmt.Sprint(bodies[0]["idempotency_key"]), "page-") {
		t.Errorf("sent are %v, want one with what was filled in and a key", bodies)
	}
	if bodies[0]["gas"] != nil || bodies[0]["args"] != nil || bodies[0]["function"] != nil {
		t.Errorf("what was left empty was sent: %v", bodies[0])
	}
}

// Rule 4: other people's words are texts on these pages too, and no page is wider than its screen.
func TestNamesOfTransactionsAreTexts(t *testing.T) {
	t.Parallel()
	n := trading(t, "trouble")
	n.mu.Lock()
	evil := object{"error": hostile, "cause": hostile, "means": hostile, "remedy": hostile, "since": time.Now().UTC(), "intent": txID(43)}
	n.ledger.accounts = []object{account(hostile, hostile, object{"chain": hostile, "address": hostile, "unknown": hostile, "waiting_for": object{"reason": hostile}, "alarms": []object{evil}})}
	words := object{
		"account": hostile, "chain": hostile, "to": hostile, "idempotency_key": hostile, "why": hostile, "creator": hostile, "fate": "rejected", "outcome": "rejected", "nonce": 7, "witnesses": []string{hostile, hostile + "2"}, "receipt_unknown": hostile,
		"block": object{"number": 7, "hash": hostile}, "attempts": []object{attempt(7, time.Minute, "9", object{"error": hostile, "hash": hostile})},
	}
	n.ledger.rows = []object{tx(43, time.Minute, words), tx(44, time.Minute, object{"waiting_for": object{"reason": hostile}, "account": hostile})}
	n.ledger.shelves = []object{{"scope": hostile, "version": object{"epoch": 1, "seq": 2}, "leading": true, "holder": hostile, "as_of": time.Now().UTC(), "files": 1, "bytes": 5, "peers": object{hostile: object{"epoch": 1, "seq": 1}}}}
	n.ledger.files = []object{{"name": hostile, "size": 5}}
	n.mu.Unlock()
	for _, as := range []look{desk, phone} {
		b := open(t, n.URL+"/#/transactions", as)
		for _, hash := range []string{"#/transactions", "#/transactions/t?id=" + txID(43), "#/transactions/t?id=" + txID(44), "#/files", "#/files/s?scope=" + urlEncoded(hostile)} {
			b.at(hash)
			b.until("the code point is drawn on "+hash, "document.querySelector('main').innerText.includes('U+20') && document.querySelector('h1')")
			b.inert(hash)
		}
	}
	if times, _ := n.counted("/v1/catalog?scope=" + urlEncoded(hostile)); times == 0 {
		t.Errorf("the catalog was not asked for by the exact name: %q", n.ledger.asked)
	}
}

// F8: a link selects, and shows the same to others; what is looked for says by its form what it is; older ones are read on demand.
func TestALinkSelectsTransactions(t *testing.T) {
	t.Parallel()
	n := trading(t, "well")
	n.mu.Lock()
	for i := range 150 {
		n.ledger.rows = append(n.ledger.rows, paid(1000+i, time.Duration(i+200)*time.Minute))
	}
	n.mu.Unlock()
	b := open(t, n.URL+"/#/transactions?account=refunds&fate=queued&w=24h", desk)
	b.until("only one is there", "document.querySelectorAll('.transactions .virtual .row').length === 1")
	if times, _ := n.counted("/v1/series?name=pending_transactions&account=refunds&since="); times == 0 {
		t.Error("the curves are not of the account and the day that the link selects")
	}
	b.press("Show all")
	b.press("Read 100 older")
	b.says("180 read")
	for text, want := range map[string]string{hash: "hash=" + hash, "0x00000000000000000000000000000000000000aa": "to=0x00000000000000000000000000000000000000aa"} {
		b.finds(text)
		b.until("it is in the link", "location.hash.includes('find=')")
		within(t, "the node was asked for "+want, func() bool { times, _ := n.counted("/v1/transactions?" + want); return times > 0 })
	}
	b.finds(txID(31))
	b.says("Final: it is done")
}

// finds looks for something.
func (b *tab) finds(text string) {
	b.t.Helper()
	b.until("there is a field to look for something", `(() => {
		const f = document.getElementById('filter')
		if (f) { f.value = '`+text+`'; f.dispatchEvent(new Event('change', { bubbles: true })) }
		return f
	})()`)
}

// within waits for something on the stand-in.
func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick, end := time.NewTicker(20*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// The library for curves is loaded once there are curves to draw, and with them the first screen has nothing of it. They differ by their dashes too,
// and a table says the same.
func TestCurvesAreLoadedWhenNeeded(t *testing.T) {
	t.Parallel()
	n := trading(t, "trouble")
	b := open(t, n.URL+"/", desk)
	b.says("All 8 scopes are led")
	loaded := "performance.getEntriesByType('resource').map((e) => e.name).filter((name) => /assets\\/(plot|transactions|files)-/.test(name)).length"
	if now := js[int](b, loaded); now != 0 {
		t.Errorf("the first screen has loaded %d files of other pages", now)
	}
	b.at("#/transactions")
	b.until("the curves are drawn", "document.querySelector('.plot canvas')")
	colours := js[int](b, `new Promise((done) => setTimeout(() => {
		const c = document.querySelector('.plot canvas')
		const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data
		const seen = new Set()
		for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2])
		done([0x08769a, 0x2f5fd0, 0x7d33c4].filter((c) => seen.has(c)).length)
	}, 200))`)
	if colours != 3 {
		t.Errorf("%d of three curves are drawn in their colours", colours)
	}
	js[bool](b, "document.querySelector('details').open = true")
	if rows := js[[]string](b, "[...document.querySelectorAll('details tbody tr')].map((e) => e.innerText.replace(/\\s+/g, ' '))"); len(rows) != 4 || !strings.HasPrefix(rows[0], "queued 2") || !strings.HasPrefix(rows[1], "sent 3 3 ") {
		t.Errorf("the table says %q", rows)
	}
	if now := js[int](b, loaded); now != 2 {
		t.Errorf("the page has loaded %d files, want its own and that of the curves", now)
	}
}

// A page that cannot be loaded, since the node was upgraded, says so, and offers to load all anew.
func TestAPageThatIsGone(t *testing.T) {
	t.Parallel()
	n := trading(t, "well")
	n.mu.Lock()
	n.lost = "/assets/files-"
	n.mu.Unlock()
	b := open(t, n.URL+"/", desk)
	b.says("All 8 scopes are led")
	b.at("#/files")
	b.says("This page could not be loaded")
	n.mu.Lock()
	n.lost = ""
	n.mu.Unlock()
	b.press("Load all anew")
	b.says("Every node holds all files of the one scope that this node leads")
}

// S22: the page says which node lacks some of the leader's files; a follower says that only the leader knows. Files are found by name.
func TestFilesSayWhoLacksWhat(t *testing.T) {
	t.Parallel()
	n := trading(t, "trouble")
	b := open(t, n.URL+"/#/files", desk)
	b.says("A node lacks some of the files of one scope")
	b.says("! lacks some of 6.41: what is missing is pushed until it is there")
	b.says("What other nodes hold is known to the leader: open the page of node-3.")
	b.says("812 files, 48.2 GB")
	n.trades("well")
	b.says("Every node holds all files of the one scope that this node leads")
	n.away(43 * time.Second)
	b.says("this page needs neither")
	if !js[bool](b, "getComputedStyle(document.querySelector('.one dd')).color === getComputedStyle(document.body).color") {
		t.Error("what is known without a database is grey without one")
	}
	n.away(0)
	b.press("reports")
	b.says("812 files")
	b.press("Read 500 more")
	b.until("they were read", "![...document.querySelectorAll('button')].some((e) => e.innerText === 'Read 500 more')")
	b.fill("#filter", "0811.pdf")
	b.until("it is found", "document.querySelectorAll('.files .virtual .row').length === 1")
	b.says("533 MB")
	n.Server.CloseClientConnections()
	n.mu.Lock()
	n.lost = "/v1/"
	n.mu.Unlock()
	b.says("This was so before.")
	n.mu.Lock()
	n.lost = ""
	n.mu.Unlock()
	b.until("it is known again", "!document.body.innerText.includes('This was so before.')")
}

// pagesOfMoney are the views that the tests below look at.
var pagesOfMoney = map[string]string{"transactions": "#/transactions", "transaction": "#/transactions/t?id=" + txID(31), "open": "#/transactions/t?id=" + txID(43), "files": "#/files", "catalog": "#/files/s?scope=reports"}

var saysOfMoney = map[string]string{"well": "Nothing is in the way", "trouble": "accounts needs somebody", "empty": "This node has no account", "stale": "Not known:"}

// standMoney brings the node into a state.
func standMoney(n *node, is string) {
	n.away(0)
	if is == "stale" {
		n.away(43 * time.Second)
		return
	}
	n.trades(is)
}

// Rule 7: axe-core finds nothing serious on these pages and in their dialogs, light or dark, wide or narrow, and none is wider than its screen.
func TestAxeOnTransactionsAndFiles(t *testing.T) {
	t.Parallel()
	n := trading(t, "well")
	few := map[look][]string{desk: {"trouble", "well"}, night: {"stale", "empty"}}
	for _, as := range axed() {
		states := few[as]
		if runtest.Whole() {
			states = []string{"trouble", "well", "stale", "empty"}
		}
		for _, is := range states {
			standMoney(n, map[bool]string{true: "well", false: is}[is == "stale"])
			b := open(t, n.URL+"/#/transactions", as)
			b.says(saysOfMoney[map[bool]string{true: "well", false: is}[is == "stale"]])
			standMoney(n, is)
			b.says(saysOfMoney[is])
			for name, hash := range pagesOfMoney {
				if is == "empty" && strings.Contains(hash, "?") {
					continue // there is none
				}
				b.at(hash)
				b.until("its heading is there", "document.querySelector('h1') && !document.querySelector('h1').innerText.includes('sking the node')")
				b.serious(name + " " + is)
			}
			if is == "well" {
				b.at("#/transactions")
				b.press("Send…")
				b.until("the form is there", "document.querySelector('dialog input[name=to]')")
				b.serious("the form")
			}
			b.sound()
			b.close()
		}
	}
}

// Pictures of these pages: see TestPictures.
func TestPicturesOfTransactionsAndFiles(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CONCH_PICTURES")
	if dir == "" {
		t.Skip("nobody wants pictures: CONCH_PICTURES names a folder for them")
	}
	n := trading(t, "well")
	n.ledger.would = object{"as_of": time.Now().UTC(), "address": "0x4B", "max_tip": "1", "block": nil, "account": "payer", "chain": "evm:1337", "accepted": true, "refusal": nil, "id": nil, "works": true, "gas": 21000, "max_fee": "30000000000", "cost": "250630000000000000", "balance": "41250000000000000000", "limits": []object{}}
	for name, as := range looks {
		for _, is := range []string{"well", "trouble", "empty", "stale"} {
			standMoney(n, map[bool]string{true: "well", false: is}[is == "stale"])
			b := open(t, n.URL+"/#/transactions", as)
			b.says(saysOfMoney[map[bool]string{true: "well", false: is}[is == "stale"]])
			standMoney(n, is)
			b.says(saysOfMoney[is])
			for page, hash := range pagesOfMoney {
				b.at(hash)
				b.until("its heading is there", "document.querySelector('h1') && !document.querySelector('h1').innerText.includes('sking the node')")
				js[bool](b, "new Promise((done) => setTimeout(() => done(true), 300))")
				b.picture(filepath.Join(dir, page+"-"+is+"-"+name+".png"))
			}
			if is == "well" {
				b.at("#/transactions")
				b.press("Send…")
				b.press("What would it do?")
				b.says("nobody can take it back")
				b.picture(filepath.Join(dir, "send-"+name+".png"))
			}
			b.close()
		}
	}
}
