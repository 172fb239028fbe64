package ui_test

import "testing"

// Rule 5: a dialog tells of its end late, when somebody has asked for something else already, or for the same again. It ends itself alone: what
// was asked for meanwhile is said, and can be done.
func TestADialogEndsItselfAlone(t *testing.T) {
	t.Parallel()
	n := withServices(t)
	n.trades("well")
	n.troubled()
	n.rings("trouble")
	for _, c := range []struct{ hash, first, next string }{
		{"#/leaders", "Hand over…", "Hand over…"},
		{"#/leaders/s?scope=payments", "Hand over…", "Hand over…"},
		{"#/transactions", "Send…", "Send…"},
		{"#/transactions/t?id=" + txID(43), "Cancel…", "Cancel…"},
		{"#/alerts", "Silence…", "Test…"},
		{"#/crons/c?cron=report", "Run now…", "Pause…"},
		{"#/jobs/j?id=1600", "Try again…", "Try again…"},
		{"#/dead", "Try 2,347 again…", "Discard 2,347…"},
		{servicePages["contract"], "Send…", "Coordinate no more…"},
	} {
		t.Run(c.hash, func(t *testing.T) {
			t.Parallel()
			b := open(t, n.URL+"/"+c.hash, desk)
			b.press(c.first)
			b.until("it asks", "document.querySelector('dialog[open]')")
			if !js[bool](b, endsLate(`[...document.querySelectorAll('main button')].filter((e) => e.innerText.trim() === `+quote(c.next)+` && !e.disabled).at(-1).click()`)) {
				t.Errorf("%s vanished with the end of %s before it", c.next, c.first)
			}
			b.press("Leave it")
			b.until("it is over", "!document.querySelector('dialog')")
		})
	}
	b := open(t, n.URL+"/", desk)
	b.says("All 8 scopes are led")
	const key = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }))"
	js[bool](b, key)
	b.until("the list of keys is there", "document.querySelector('dialog[open]')")
	if !js[bool](b, endsLate(key)) {
		t.Error("the list of keys vanished with the end of the one before it")
	}
}

// endsLate shuts the dialog, does something before it has told of its end, and says whether a dialog is open once it has.
func endsLate(then string) string {
	return `new Promise((done) => {
		const first = document.querySelector('dialog[open]')
		let frames = 0 // a busy browser draws the next one later
		const look = () => {
			const open = Boolean(document.querySelector('dialog[open]'))
			if (frames > 2 && open || frames > 60) done(open)
			else frames++, requestAnimationFrame(look)
		}
		first.addEventListener('close', look)
		first.close()
		;` + then + `
	})`
}

// A dialog of a page is left with the page: another one, or the same later, does not ask what was asked there.
func TestADialogIsLeftWithItsPage(t *testing.T) {
	t.Parallel()
	n := watched(t)
	n.troubled()
	b := open(t, n.URL+"/#/jobs/j?id=1600", desk)
	b.press("Try again…")
	b.until("it asks", "document.querySelector('dialog[open]')")
	b.at("#/jobs")
	b.until("the list is there", "document.querySelector('table.queues')")
	b.until("nothing is asked", "!document.querySelector('dialog')")
	b.at("#/jobs/j?id=1599")
	b.says("signal: killed")
	if js[bool](b, "Boolean(document.querySelector('dialog'))") {
		t.Error("the page of a job asks what was asked on that of another")
	}
}
