package web

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/internal/secretfile"
	"github.com/conchhq/conch/internal/stamp"
)

// lookEvery is the least interval between looks at the files.
const lookEvery = time.Second

// Certificate is a server certificate that is read again when its files change.
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger
	now               atomic.Pointer[served]

	mu     sync.Mutex
	looked time.Time
}

// served is a certificate with its key, and the stamp of the files when they were read.
type served struct {
	pair  tls.Certificate
	stamp string
}

// LoadCertificate reads a certificate chain and its key.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log}
	if err := c.Reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// Reload reads the files again. After an error the old certificate stays in use.
func (c *Certificate) Reload() error {
	use, err := c.Read()
	if err == nil {
		use()
	}
	return err
}

// Read reads the files again. The new certificate is served once use is called.
func (c *Certificate) Read() (use func(), err error) {
	before := stamp.Of(c.certFile, c.keyFile)
	if err := secretfile.Private(c.keyFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the key %s cannot be used: %w", c.keyFile, err)
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return nil, fmt.Errorf("the certificate %s with the key %s cannot be used: %w", c.certFile, c.keyFile, err)
	}
	return func() { c.now.Store(&served{pair, before}) }, nil
}

// Config returns a TLS configuration that always serves the current certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(time.Now()), nil },
	}
}

func (c *Certificate) current(now time.Time) *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.looked) >= lookEvery {
		c.looked = now
		if stamp.Of(c.certFile, c.keyFile) != c.now.Load().stamp {
			// If only one of the two files is new yet, they do not match: the next look tries again.
			if err := c.Reload(); err != nil {
				c.log.Warn("the changed certificate is not used yet", slog.Any("error", err))
			}
		}
	}
	return &c.now.Load().pair
}
