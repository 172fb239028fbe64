package web

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
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

	mu     sync.Mutex
	now    *tls.Certificate
	stamp  string
	looked time.Time
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
	if err != nil {
		return err
	}
	use()
	return nil
}

// Read reads the files again. The new certificate is served once use is called.
func (c *Certificate) Read() (use func(), err error) {
	fresh, read, err := c.read()
	if err != nil {
		return nil, err
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now, c.stamp = fresh, read
	}, nil
}

func (c *Certificate) read() (*tls.Certificate, string, error) {
	before := stamp.Of(c.certFile, c.keyFile)
	if err := secretfile.Private(c.keyFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, before, fmt.Errorf("the key %s cannot be used: %w", c.keyFile, err)
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return nil, before, fmt.Errorf("the certificate %s with the key %s cannot be used: %w", c.certFile, c.keyFile, err)
	}
	return &pair, before, nil
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
		if stamp.Of(c.certFile, c.keyFile) != c.stamp {
			// If only one of the two files is new yet, they do not match: the next look tries again.
			if fresh, read, err := c.read(); err != nil {
				c.log.Warn("the changed certificate is not used yet", slog.Any("error", err))
			} else {
				c.now, c.stamp = fresh, read
			}
		}
	}
	return c.now
}
