//go:build !one || clientgo

package candidate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/conchhq/conch/internal/pause"
)

var _ = enter("client-go", kube)

// kube uses client-go's elector over a row in Postgres in place of a Lease object, with the
// compare-and-swap by version of the API server. The default is that of its documentation and of
// Kubernetes' own components: 15 s, 10 s, 2 s, without ReleaseOnCancel. With a lease it uses about the
// same proportions, and ReleaseOnCancel.
func kube(ctx context.Context, cfg Config, o *outside) error {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	pool, err := pgxpool.New(ctx, cfg.URL)
	if err != nil {
		return err
	}
	defer pool.Close()
	settings := leaderelection.LeaderElectionConfig{
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
	}
	if cfg.Lease > 0 {
		settings.LeaseDuration, settings.RenewDeadline, settings.RetryPeriod = cfg.Lease, cfg.Lease*13/20, cfg.Lease*3/20
		settings.ReleaseOnCancel = true
	}
	settings.Lock = &rowLock{pool: pool, id: cfg.ID, patience: requestTimeout(settings.RenewDeadline)}
	for ctx.Err() == nil {
		settings.Callbacks = leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				_ = o.work(ctx) // a missing line shows
			},
			OnStoppedLeading: func() {},
		}
		elector, err := leaderelection.NewLeaderElector(settings)
		if err != nil {
			return err
		}
		elector.Run(ctx)
		_ = pause.For(ctx, 100*time.Millisecond)
	}
	return nil
}

// requestTimeout returns what resourcelock.NewFromKubeconfig gives a request. client-go asks for less
// than the deadline: otherwise a single hanging request would cost the leadership, and keep the leader
// at work until the release has failed as well.
func requestTimeout(deadline time.Duration) time.Duration { return max(time.Second, deadline/2) }

// rowLock keeps the election's record in one row.
type rowLock struct {
	pool     *pgxpool.Pool
	id       string
	patience time.Duration // per request
	version  int64         // version of the record as last read
}

var resource = schema.GroupResource{Resource: "row"}

// Get reads the record.
func (l *rowLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	var raw []byte
	err := l.pool.QueryRow(ctx, `SELECT record, version FROM kube_lock WHERE name = 'bench'`).Scan(&raw, &l.version)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, apierrors.NewNotFound(resource, "bench")
	}
	if err != nil {
		return nil, nil, err
	}
	var record resourcelock.LeaderElectionRecord
	if err := json.Unmarshal(raw, &record); err != nil {
		return nil, nil, err
	}
	return &record, raw, nil
}

// Create creates the record if there is none.
func (l *rowLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	raw, err := json.Marshal(record)
	if err != nil {
		return err
	}
	tag, err := l.pool.Exec(ctx, `INSERT INTO kube_lock (name, record, version) VALUES ('bench', $1, 1) ON CONFLICT DO NOTHING`, raw)
	if err == nil && tag.RowsAffected() == 0 {
		return apierrors.NewAlreadyExists(resource, "bench")
	}
	l.version = 1
	return err
}

// Update replaces the record if it is still the one that was read.
func (l *rowLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	raw, err := json.Marshal(record)
	if err != nil {
		return err
	}
	tag, err := l.pool.Exec(ctx, `UPDATE kube_lock SET record = $1, version = version + 1 WHERE name = 'bench' AND version = $2`, raw, l.version)
	if err == nil && tag.RowsAffected() == 0 {
		return apierrors.NewConflict(resource, "bench", errors.New("version "+strconv.FormatInt(l.version, 10)+" is gone"))
	}
	if err == nil {
		l.version++
	}
	return err
}

// RecordEvent does nothing.
func (*rowLock) RecordEvent(string) {}

// Identity returns the candidate's name.
func (l *rowLock) Identity() string { return l.id }

// Describe names the lock.
func (*rowLock) Describe() string { return "kube_lock/bench" }
