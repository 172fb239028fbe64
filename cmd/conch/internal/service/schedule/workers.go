package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/internal/secretfile"
	"github.com/conchhq/conch/schedule"
)

// Worker is one [[workers]]. Its posts are scopes that every node with the same queues campaigns for: the one that gets a post gives back what the one
// before has left under it.
type Worker struct {
	Queues      []string
	Concurrency int
	Hosts       []string // to which it posts jobs
	KeyFile     string   // whose first line signs what it posts
	Handlers    map[string]schedule.Call
}

// readWorkers reads [[workers]].
func (s *Section) readWorkers(d *config.Decoder, place string, value any) {
	for i, v := range d.Tables(place, value) {
		var one Worker
		d.Table(fmt.Sprintf("%s[%d]", place, i), v, map[string]config.Setter{
			"queues": d.Names(&one.Queues), "concurrency": oneOrMore(d, &one.Concurrency), "hosts": d.Texts(&one.Hosts), "key_file": d.Path(&one.KeyFile),
			"handlers": readHandlers(d, &one.Handlers),
		})
		if one.Queues == nil {
			one.Queues = []string{"default"}
		}
		s.workers = append(s.workers, one)
	}
}

// readHandlers reads what is done for jobs that give a name.
func readHandlers(d *config.Decoder, to *map[string]schedule.Call) config.Setter {
	return func(place string, value any) {
		*to = map[string]schedule.Call{}
		table, _ := value.(map[string]any)
		keys := map[string]config.Setter{}
		for name := range table {
			keys[name] = func(place string, v any) {
				d.Name(&name)(place, name)
				var call schedule.Call
				d.Table(place, v, map[string]config.Setter{"command": d.Command(&call.Command), "http": d.Word(&call.HTTP)})
				(*to)[name] = call
			}
		}
		d.Table(place, value, keys)
	}
}

// defaultPosts is how many posts the workers of some queues have, over all nodes.
const defaultPosts = 3

// postsOf lists the scopes of a worker's posts.
func (s *Section) postsOf(w Worker) (all []string) {
	queues := slices.Sorted(slices.Values(w.Queues))
	for n := range s.posts {
		all = append(all, fmt.Sprintf("worker/%s/%d", strings.Join(queues, "+"), n+1))
	}
	return all
}

func (s *Section) validateWorkers(d *config.Decoder, c config.Config) {
	for i, w := range s.workers {
		place := fmt.Sprintf("workers[%d]", i)
		if c.Node.Standalone {
			d.Fault(place, "a standalone node has no jobs: give it a database, or take the worker out")
		}
		if (len(w.Hosts) == 0) != (w.KeyFile == "") {
			d.Fault(place+".hosts", "a worker that posts jobs has hosts, such as [\"api.example.com\"], and a key_file that signs them")
		}
		for name, call := range w.Handlers {
			place := config.Under(place+".handlers", name)
			if err := call.Validate(); err != nil {
				d.Fault(place, "%v", err)
			} else if u, _ := url.Parse(call.HTTP); call.HTTP != "" && !slices.Contains(w.Hosts, u.Host) {
				d.Fault(place, "the worker does not post to %q: add it to its hosts", u.Host)
			}
		}
		if err := (schedule.WorkerConfig{Queues: w.Queues, Slots: w.Concurrency}).WithDefaults().Validate(); err != nil {
			d.Fault(place, "%v", err)
		}
	}
}

// check reports keys that cannot be read.
func check(c config.Config, fault func(key string, err error)) {
	for i, w := range config.Of[*Section](c).workers {
		if w.KeyFile != "" {
			_, err := w.hooks()
			fault(fmt.Sprintf("workers[%d].key_file", i), err)
		}
	}
}

// hooks is how a worker posts jobs; nil: it does not.
func (w Worker) hooks() (*schedule.Hooks, error) {
	if w.KeyFile == "" {
		return nil, nil //nolint:nilnil // it posts none
	}
	key, err := secretfile.Line(w.KeyFile)
	if err != nil {
		return nil, err
	}
	h := &schedule.Hooks{Key: []byte(key), Hosts: w.Hosts}
	return h, schedule.WorkerConfig{Hooks: h}.WithDefaults().Validate()
}

// work takes jobs, and has them done, while this node leads the worker's post.
func (s *service) work(r config.Role, w Worker) node.Work {
	return func(ctx context.Context, l election.Leadership) error {
		hooks, err := w.hooks()
		if err != nil {
			return err
		}
		grace, err := r.Grace()
		if err != nil {
			return err // cannot happen: validated
		}
		drain := keeper.CommandTime(r.DrainTimeout)
		worker, err := schedule.NewWorker(schedule.WorkerConfig{
			Queues: w.Queues, Slots: w.Concurrency, Drain: drain, Calls: w.Handlers, Commands: newRunner(s.frame, grace, drain), Hooks: hooks, Tell: s.tell,
		}, s.store)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		var listening sync.WaitGroup
		defer listening.Wait()
		defer cancel()
		listening.Go(func() { _ = s.store.ListenJobs(ctx, worker.Woken) }) // ends with ctx
		s.frame.Log.Info("working at jobs", slog.String("scope", l.Token.Scope), slog.Int64("epoch", l.Token.Epoch), slog.Any("queues", w.Queues))
		defer s.tally.calm(l.Token.Scope)
		if err := worker.Run(ctx, l.Gate); ctx.Err() == nil {
			return err
		}
		return nil // the elector ended the term and knows why
	}
}
