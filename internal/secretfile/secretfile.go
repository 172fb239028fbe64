// Package secretfile reads files that hold a secret: tokens, passwords, keys. What checks a configuration and what uses it ask the
// same functions. Their errors quote nothing of a file.
package secretfile

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// most is how large a file is. What is larger is another file.
const most = 1 << 20

// Private returns an error if a file is none, or is open to others than its owner and a group that reads it, as secrets of
// Kubernetes are.
func Private(file string) error {
	switch info, err := os.Stat(file); { // it is not opened yet: a pipe would never end
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is a folder, a pipe or a device, and a secret is in a file", file)
	case info.Size() > most:
		return fmt.Errorf("%s is larger than %d bytes, and no secret is: name another file", file, most)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o037 != 0:
		return fmt.Errorf("every user of this machine may read it, or its group may change it (mode %04o): chmod 600 %s", info.Mode().Perm(), file)
	}
	return nil
}

// Read returns the text of a private file.
func Read(file string) (string, error) {
	if err := Private(file); err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	if text = Text(text); err == nil && bytes.IndexByte(text, 0) >= 0 {
		err = errors.New(file + " is no text in UTF-8: save it as that")
	}
	return string(text), err
}

// Line returns the first line of a private file.
func Line(file string) (string, error) {
	text, err := Read(file)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(text, "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", fmt.Errorf("the first line of %s is empty, and has to be the secret", file)
	}
	return line, nil
}

// Roots returns the certificates of a CA's file, which need not be private; nil, which means those of the system, without a file.
func Roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(Text(text)) {
		return nil, fmt.Errorf("%s holds no certificate", file)
	}
	return pool, nil
}

// Text returns what a file has without the mark with which some editors begin one.
func Text(file []byte) []byte { return bytes.TrimPrefix(file, []byte("\ufeff")) }
