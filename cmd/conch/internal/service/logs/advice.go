package logs

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/founding"
	"github.com/conchhq/conch/txlog/quorum"
)

// advice says what is in the way of the log, as far as this node can know, and what to do.
func (r *part) advice(st quorum.Status) string {
	r.mu.Lock()
	gone := r.gone
	r.mu.Unlock()
	if gone != nil {
		return gone.Error() + ": " + refetch
	}
	if text := r.elsewhere(r.peersNow()); text != "" { // nothing that is said about this log would help
		return text
	}
	if text := lost(st, r.Namespace); text != "" {
		return text
	}
	m, is := txlog.FindMember(st.Members, r.self)
	if is && m.Key != r.key {
		return r.otherKey(st, m)
	}
	if text := stands(st, r.Namespace); text != "" || st.Majority != nil {
		return text
	}
	if is && m.Store != st.Store {
		return "the members know another store of this node, and this one follows until their leader has admitted it. If that does not come, the disks of " +
			"a majority may be lost: conch log status on the other members says so"
	}
	return ""
}

// otherKey says that the log knows this node by another key, and how it comes to know it by the one that the node has now.
func (r *part) otherKey(st quorum.Status, m txlog.Member) string {
	var others, all []string
	for _, of := range st.Members {
		all = append(all, of.Name)
		if of.Name != r.self {
			others = append(others, of.Name)
		}
	}
	what := "it is not admitted"
	if st.Decides {
		what = "by its store, which it still has, it votes, and may lead"
	}
	return fmt.Sprintf("the log knows this member by another key, %s, and this node has sha256:%s: %s, and nobody believes what it signs. If that key is lost, have the log forget it: "+
		"`conch log members %s --set %s` at a node that works, and once that is done `conch log members %[4]s --set %[6]s`", keyOf(m), r.key, what, r.Namespace, strings.Join(others, ","), strings.Join(all, ","))
}

// stands says why a log cannot go on, and what members have said or signed that cannot be true.
func stands(st quorum.Status, namespace string) string {
	var texts []string
	if st.Majority != nil && st.Majority.Advice != "" {
		texts = append(texts, st.Majority.Advice)
	}
	switch {
	case st.Majority != nil && st.Majority.Fork != "":
		texts = append(texts, st.Majority.Fork)
	case st.Copy.Fork.B.Member != "":
		texts = append(texts, forked(st, namespace))
	case len(st.Copy.Doubts) > 0:
		texts = append(texts, doubted(st, namespace))
	}
	return strings.Join(texts, ". ")
}

// which is how a person finds out which of two explanations is true.
func which(namespace string) string {
	return fmt.Sprintf("`conch log verify %s` with --node for each node shows which copies differ, and from which entry on. If a store was restored, docs/log.md (A store that was restored) "+
		"says what to do. If none was, look at that node; to have nobody believe its key, take it out: `conch log members %[1]s --set` with the others", namespace)
}

// forked says that two heads cannot both be true. Which of those who signed them is right nobody can tell here.
func forked(st quorum.Status, namespace string) string {
	f := st.Copy.Fork
	what := fmt.Sprintf("%s has signed a head of entry %d that cannot be true if this copy is", f.B.Member, f.B.Index)
	if f.A.Member != "" {
		what = fmt.Sprintf("heads that cannot both be true were signed by %s, of entry %d, and by %s, of entry %d", f.A.Member, f.A.Index, f.B.Member, f.B.Index)
	}
	return fmt.Sprintf("the log has forked: %s. Either a member's store was restored from a backup or copied, and has forgotten what it had promised; or a member lies, or its key is stolen. "+
		"This node keeps its copy. %s. It says so until it is started again", what, which(namespace))
}

// doubted names a member that has signed what the leader does not have.
func doubted(st quorum.Status, namespace string) string {
	d := st.Copy.Doubts[len(st.Copy.Doubts)-1]
	return fmt.Sprintf("%s has signed a head of entry %d, and the leader has denied it. Either %[1]s lies, or its key is stolen; or the store of the leader, or of a member that elected it, "+
		"was restored from a backup or copied, and has forgotten that entry. The log goes on, and does not count heads of that kind (%[3]d so far). %[4]s",
		d.Head.Member, d.Head.Index, d.Count, which(namespace))
}

// lost says that the stores of a majority are gone, though the nodes run: nobody can admit the new ones.
func lost(st quorum.Status, namespace string) string {
	left, need := len(st.Members)-len(st.Renewed), txlog.Majority(st.Members)
	if len(st.Renewed) == 0 || left >= need || st.Majority != nil && st.Majority.Advice == "" {
		return ""
	}
	return fmt.Sprintf("%s ran with other stores before, and those of now cannot vote until a leader has admitted them. %d of %d old stores can be left, and a leader needs %d. "+
		"If the disks of the others are lost for good, stop this log everywhere and begin a new lineage: `conch log recover %s --out FILE` on the node with the newest copy, "+
		"then `conch log recover %[5]s --from FILE` on the others", strings.Join(st.Renewed, ", "), left, len(st.Members), need, namespace)
}

// unmade says what there is to do while nobody has said how the log began. If no node of the configuration is connected, nobody can: it may be that
// they do not know this node by the key that it has.
func (r *part) unmade() string {
	near := r.near()
	if len(near) == 0 || slices.ContainsFunc(r.peersNow(), func(name string) bool { return slices.Contains(near, name) }) {
		return notMade
	}
	return fmt.Sprintf("this node has heard of no log of that name yet, and is connected with none of its [[peers]], which could say: they have to run, and to know it by the key that it has, "+
		"sha256:%s. If that one is new, put it into their [[peers]]. If nobody has made the log, conch log create makes one", r.key)
}

// askEvery is how many looks come before another peer is asked of which log it speaks: thousands of nodes may ask the same few.
const askEvery = 6

// askAround asks one peer after the other of which log it speaks.
func (r *part) askAround(look int) {
	if look%askEvery != 0 {
		return
	}
	var all []string
	for _, name := range r.peersNow() {
		if r.may(name) {
			all = append(all, name)
		}
	}
	if len(all) > 0 {
		r.send(all[look/askEvery%len(all)], txlog.ID{}, founding.Seek{Serial: 1, Namespace: r.Namespace})
	}
}

// elsewhere says that connected peers speak of another log of this name: one that goes on with this one, since this node was left out of
// conch log recover, or one that more of them have than this one.
func (r *part) elsewhere(connected []string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.genesis == nil {
		return ""
	}
	own := r.genesis.ID()
	there := map[txlog.ID][]string{}
	var most, next txlog.ID
	for _, name := range slices.Sorted(maps.Keys(r.others)) {
		id, parent := r.others[name].log, r.others[name].parent
		if !slices.Contains(connected, name) || id == r.genesis.Parent.Log { // which has ended
			continue
		}
		there[id] = append(there[id], name)
		if parent == own {
			next = id
		}
		if id != own && len(there[id]) > len(there[most]) {
			most = id
		}
	}
	switch {
	case !next.IsZero():
		return fmt.Sprintf("there is another log of this name at %s, which goes on with this one: this node was left out when conch log recover made it, and hears nothing new. To move it there, "+
			"stop it, and run `conch log recover %s --from FILE` with the recovery file, or write id = \"%s\" into its [[logs]]. Then start it", strings.Join(there[next], ", "), r.Namespace, next)
	case len(there[most]) > len(there[own]):
		return fmt.Sprintf("there is another log of this name at %s, %s, and this node has %s. If that one is right, stop this node, move its store %s away, take id out of its [[logs]] "+
			"or correct it, and start it", strings.Join(there[most], ", "), most, own, r.Store)
	}
	return ""
}

// points has a handler that can do nothing now say so if the node's peers have another log of the name: to ask again would be of no use, and
// nobody looks at the status of a node that only seems to be slow.
func (a *api) points(serve web.Handler) web.Handler {
	return func(w http.ResponseWriter, req *http.Request) error {
		err := serve(w, req)
		if err == nil || web.ProblemOf(req.Context(), err).Status != http.StatusServiceUnavailable {
			return err
		}
		r, unknown := find(a.shelf.Parts(), req.PathValue("namespace"))
		if unknown != nil {
			return err
		}
		text := r.elsewhere(r.peersNow())
		if text == "" {
			return err
		}
		p := *web.ProblemOf(req.Context(), err)
		p.Detail += ". But " + text
		return &p
	}
}
