package pgstore

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/alerts"
)

// What is stored as JSON has types of its own: a value may be no number, which JSON cannot say.
type (
	groupRow struct {
		Key     string            `json:"key"`
		Rule    string            `json:"rule"`
		Labels  map[string]string `json:"labels"`
		Seq     uint64            `json:"seq"`
		Fires   bool              `json:"fires"`
		Since   *time.Time        `json:"since"`
		Until   *time.Time        `json:"until"`
		Fired   []firerRow        `json:"fired"`
		Count   int               `json:"count"`
		Silence string            `json:"silence"`
	}
	firerRow struct {
		Labels map[string]string `json:"labels"`
		Value  string            `json:"value"`
		Since  time.Time         `json:"since"`
	}
	tellingRow struct {
		Key      string        `json:"key"`
		Receiver string        `json:"receiver"`
		Told     uint64        `json:"told"`
		Knows    alerts.Status `json:"knows"`
		At       *time.Time    `json:"at"`
		Seq      uint64        `json:"seq"`
		Message  messageRow    `json:"message"`
		Asked    bool          `json:"asked"`
		Tries    int           `json:"tries"`
		Doubt    bool          `json:"doubt"`
	}
	messageRow struct {
		Rule     string            `json:"rule"`
		Severity string            `json:"severity"`
		Status   alerts.Status     `json:"status"`
		Group    map[string]string `json:"group"`
		Members  []firerRow        `json:"members"`
		Others   int               `json:"others"`
		Since    time.Time         `json:"since"`
		Until    time.Time         `json:"until"`
		Silence  string            `json:"silence"`
	}
	evaluationRow struct {
		N    uint64    `json:"n"`
		At   time.Time `json:"at"`
		Node string    `json:"node"`
		Rest restRow   `json:"rest"`
	}
	restRow struct {
		Troubles map[string]alerts.Failing `json:"troubles"`
		Judged   map[string]bool           `json:"judged"`
		Seen     map[string]alerts.Node    `json:"seen"`
		Buried   map[string]time.Time      `json:"buried"`
		Claims   uint64                    `json:"claims"`
		Perhaps  bool                      `json:"perhaps"`
		Cried    bool                      `json:"cried"`
	}
)

// encode makes the arguments of conch.alert_record.
func encode(rows alerts.Rows) ([]any, error) {
	groups, tellings := []groupRow{}, []tellingRow{}
	for _, g := range rows.Groups {
		groups = append(groups, groupRow{g.Key, g.Rule, g.Labels, g.Seq, g.Fires, instant(g.Since), instant(g.Until), firers(g.Fired), g.Count, g.Silence})
	}
	for _, t := range rows.Tellings {
		m := t.Message
		tellings = append(tellings, tellingRow{
			t.Key, t.Receiver, t.Told, t.Knows, instant(t.At), t.Seq,
			messageRow{m.Rule, m.Severity, m.Status, m.Group, firers(m.Members), m.Others, m.Since, m.Until, m.Silence}, t.Asked, t.Tries, t.Doubt,
		})
	}
	args := make([]any, 2, 14)
	var err error
	if args[0], err = text(groups); err != nil {
		return nil, err
	}
	if args[1], err = text(tellings); err != nil {
		return nil, err
	}
	members, err := columns(rows.Members)
	if err != nil {
		return nil, err
	}
	ended, gone := [2][]string{{}, {}}, append([]string{}, rows.Gone...)
	for _, m := range rows.Ended {
		ended[0], ended[1] = append(ended[0], m.Key), append(ended[1], m.ID)
	}
	args = append(append(args, members...), ended[0], ended[1], gone, nil)
	if e := rows.Evaluation; e != nil {
		args[len(args)-1], err = text(evaluationRow{e.N, e.At, e.Node, restRow{e.Troubles, e.Judged, e.Seen, e.Buried, e.Claims, e.Perhaps, e.Cried}})
	}
	return args, err
}

// columns are the arrays of members: thousands may begin to fire at once.
func columns(all []alerts.Standing) ([]any, error) {
	n := len(all)
	keys, ids, labels, values := make([]string, n), make([]string, n), make([]string, n), make([]float64, n)
	since, fires, seqs, muted := make([]time.Time, n), make([]*time.Time, n), make([]int64, n), make([]string, n)
	for i, m := range all {
		of, err := text(m.Labels)
		if err != nil {
			return nil, err
		}
		keys[i], ids[i], labels[i], values[i] = m.Key, m.ID, of, m.Value
		since[i], fires[i], seqs[i], muted[i] = m.Since, instant(m.Fires), int64(m.Seq), m.Muted
	}
	return []any{keys, ids, labels, values, since, fires, seqs, muted}, nil
}

func firers(all []alerts.Firer) []firerRow {
	rows := []firerRow{}
	for _, f := range all {
		rows = append(rows, firerRow{f.Labels, strconv.FormatFloat(f.Value, 'g', -1, 64), f.Since})
	}
	return rows
}

// text is JSON that Postgres takes. What a label says must not keep anybody from being told: NUL, which cannot be stored, becomes another character.
func text(v any) (string, error) {
	raw, err := json.Marshal(v)
	return strings.ReplaceAll(string(raw), `\u0000`, `\ufffd`), err
}

// clean is a text of a user that can be stored.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}
