package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of a server. Event streams, drains and files move their deadlines and have none while
// they wait: over HTTP/2 an expired deadline ends a request even between reads and writes.
const (
	ReadTimeout       = 15 * time.Second // for a request and its body
	WriteTimeout      = 30 * time.Second // for an answer
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeader         = 16 << 10
	grace             = 10 * time.Second // for requests under way when the server ends
)

// Serve serves h on a listener until ctx ends. Then it ends the event streams, closes the
// listener and waits up to 10 s for other requests. It returns nil if they have finished.
func (s *Site) Serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       ReadTimeout,
		WriteTimeout:      WriteTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// Failed handshakes and the like are for debugging: a port scan could fill the log.
		ErrorLog: slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.end()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := srv.Shutdown(patience)
	if err != nil {
		err = errors.Join(err, srv.Close())
	}
	if why := <-ended; !errors.Is(why, http.ErrServerClosed) {
		err = errors.Join(err, why)
	}
	return err
}
