package chunksync

import (
	"errors"
	"os"
	"time"
)

// extend writes data to the end of a file of that size, and syncs it. After an error without
// sure, a crash may leave the file with the data or without.
func (d disk) extend(name string, size int64, data []byte) (sure bool, err error) {
	f, err := os.OpenFile(d.path(name), os.O_WRONLY, 0)
	if err != nil {
		return true, err
	}
	defer func() { _ = f.Close() }() // it was synced, or does not count
	err = d.do("append", name, func() error {
		_, err := f.WriteAt(data, size)
		return err
	})
	if err != nil {
		// Not all is written, so that a crash leaves no whole line. Nothing may follow the half.
		cut := d.do("truncate", name, func() error { return f.Truncate(size) })
		return cut == nil, errors.Join(err, cut)
	}
	err = d.do("sync", name, f.Sync)
	return err == nil, err
}

// rewrite writes the end of a file again, as it is, and syncs it. A sync alone would not do: after
// one that failed, the kernel takes what it could not write for written. The file's time stays.
func (d disk) rewrite(name string, from int64, data []byte) error {
	f, err := os.OpenFile(d.path(name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		err = d.do("rewrite", name, func() error {
			_, err := f.WriteAt(data, from)
			return errors.Join(err, os.Chtimes(f.Name(), time.Time{}, info.ModTime()))
		})
	}
	if err == nil {
		err = d.do("sync", name, f.Sync)
	}
	return errors.Join(err, f.Close())
}
