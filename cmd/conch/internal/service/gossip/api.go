package gossip

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/transport/mtls"
)

const (
	pathNodes     = "/v1/nodes"
	pathNamespace = pathNodes + "/{namespace}"
	pathWithdraw  = pathNamespace + "/withdraw"
	pathTopic     = pathNamespace + "/news/{topic}"

	mostWhy = 200 // bytes of a reason
)

// running is this node in the overlay.
type running interface { //nolint:interfacebloat // all that a user of this node may ask of it
	Status() gossip.Status
	Publish(namespace, topic string, body []byte) error
	StandBack(namespace string, why error)
	Strangers() map[mtls.Reason]uint64
	// Differs returns the keys of [gossip] in which a neighbour is configured otherwise.
	Differs(peer string) []string
	// Contacts returns the names of those by which this node joins.
	Contacts() []string
	// Unreached returns the peers of the configuration to which the last call has failed, by name.
	Unreached() []Unreached
}

// office knows whether this node is in an overlay.
type office interface {
	// Member returns this node in the overlay, nil while its listener is away. There is false without [gossip].
	Member() (now running, there bool)
	// Namespaces returns those of the configuration.
	Namespaces() []string
	// Twins returns the nodes of which there are two, as far as this node has seen it lately.
	Twins() []Twin
}

// api serves the overlay over HTTP.
type api struct {
	office office
	log    *slog.Logger
}

func (a *api) routes() []web.Route {
	return []web.Route{
		{Method: http.MethodGet, Path: pathNodes, Serve: a.getNodes},
		{Method: http.MethodPost, Path: pathWithdraw, Needs: web.ToOperate, Serve: a.withdraw},
		{Method: http.MethodPut, Path: pathTopic, Needs: web.ToOperate, Body: gossip.MostBody, Serve: a.putNews},
	}
}

// member returns this node in the overlay.
func (a *api) member() (running, error) {
	now, there := a.office.Member()
	switch {
	case !there:
		return nil, web.Failf(http.StatusNotFound, "this node is in no overlay: its configuration has no [gossip]").Named("no-gossip", "No gossip")
	case now == nil:
		return nil, down()
	}
	return now, nil
}

func down() *web.Problem {
	return web.Failf(http.StatusServiceUnavailable, "this node's listener for peers has failed, and it begins again: its log says why").Named("gossip-down", "Gossip is down").RetryAfter(1)
}

// selects returns the namespace that the caller of an event stream names.
func (a *api) selects(named string) (namespace string, err error) {
	if _, there := a.office.Member(); !there {
		_, err := a.member()
		return "", err
	}
	return named, a.knows(named)
}

func (a *api) knows(namespace string) error {
	all := a.office.Namespaces()
	if slices.Contains(all, namespace) {
		return nil
	}
	return web.Failf(http.StatusNotFound, "%q is no namespace of this node: it has %s", namespace, strings.Join(all, ", ")).Named("unknown-namespace", "Unknown namespace")
}

// in returns this node in the overlay, for what is about a namespace.
func (a *api) in(r *http.Request) (now running, namespace string, err error) {
	if now, err = a.member(); err != nil {
		return nil, "", err
	}
	namespace = r.PathValue("namespace")
	return now, namespace, a.knows(namespace)
}

func (a *api) getNodes(w http.ResponseWriter, _ *http.Request) error {
	now, err := a.member()
	if err != nil {
		return err
	}
	return web.Answer(w, http.StatusOK, nodesOf(now, a.office.Twins(), time.Now()))
}

// withdrawal says that a node cannot do a leader's work.
type withdrawal struct {
	Why string `json:"why"`
}

func (a *api) withdraw(w http.ResponseWriter, r *http.Request) error {
	now, namespace, err := a.in(r)
	if err != nil {
		return err
	}
	var said withdrawal
	if err := web.ReadJSON(r, &said); err != nil {
		return err
	}
	if said.Why == "" || len(said.Why) > mostWhy {
		return (&web.FieldError{Field: "why", Text: "is missing, or longer than 200 bytes: say what keeps this node from a leader's work"}).Problem(http.StatusUnprocessableEntity)
	}
	if slices.ContainsFunc(now.Status().Hints, func(n gossip.Hint) bool { return n.Namespace == namespace && n.Policy == policyPaper }) {
		return web.Failf(http.StatusConflict, "the namespace %q is led by policy paper, whose votes cannot say that a node does not lead", namespace).
			Named("no-withdrawal", "No withdrawal")
	}
	now.StandBack(namespace, errors.New(said.Why))
	a.log.InfoContext(r.Context(), "this node is withdrawn", slog.String("namespace", namespace), slog.String("why", said.Why), slog.String("actor", web.Actor(r.Context())))
	return web.Answer(w, http.StatusAccepted, said)
}

// published is the answer to news.
type published struct {
	Namespace string `json:"namespace"`
	Topic     string `json:"topic"`
	Bytes     int    `json:"bytes"`
}

func (a *api) putNews(w http.ResponseWriter, r *http.Request) error {
	now, namespace, err := a.in(r)
	if err != nil {
		return err
	}
	topic := r.PathValue("topic")
	if len(topic) > gossip.MostName {
		return (&web.FieldError{Field: "topic", Text: "is longer than 64 bytes"}).Problem(http.StatusUnprocessableEntity)
	}
	if strings.HasPrefix(topic, node.LogTopics) {
		return (&web.FieldError{Field: "topic", Text: "begins with " + node.LogTopics + ", as those of logs do: choose another one"}).Problem(http.StatusUnprocessableEntity)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return err
		}
		return web.BadBody("could not be read")
	}
	switch err := now.Publish(namespace, topic, body); {
	case errors.Is(err, gossip.ErrTopics):
		return web.Failf(http.StatusConflict, "this node has told news under so many topics that there is no room for %q: use one of them again, or wait a minute", topic).
			Named("too-many-topics", "Too many topics")
	case errors.Is(err, gossip.ErrStopped):
		return down()
	case err != nil:
		return (&web.FieldError{Field: "topic", Text: err.Error()}).Problem(http.StatusUnprocessableEntity)
	}
	return web.Answer(w, http.StatusAccepted, published{namespace, topic, len(body)})
}
