package rayapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
)

// MaxPackageBytes is the largest body that the dashboard accepts; one byte more is a 413.
const MaxPackageBytes = 100 << 20

// PackageName returns a zip's name, which identifies its content. Nodes cache by name, so one name
// must never have two contents: they would run the old one.
func PackageName(zip []byte) string {
	sum := sha256.Sum256(zip)
	return "raytrain_" + hex.EncodeToString(sum[:16]) + ".zip"
}

// PackageURI returns the working_dir for an uploaded package.
func PackageURI(name string) string { return "gcs://" + name }

// EnsurePackage makes a package available for a submission that follows immediately. Reading a package
// also pins it for 10 minutes; without that it is deleted with the last job that used it (ray#36703).
// So: read, upload if absent, and read again.
func (c *Client) EnsurePackage(ctx context.Context, zip []byte) (uri string, err error) {
	if len(zip) > MaxPackageBytes {
		return "", fmt.Errorf(
			"uploading the job's code: %d bytes; Ray accepts at most %d",
			len(zip),
			MaxPackageBytes,
		)
	}
	name := PackageName(zip)
	path := "/api/packages/gcs/" + name
	err = c.pin(ctx, path)
	if errors.Is(err, ErrNotFound) {
		err = c.repeat(ctx, func() error {
			_, err := c.do(ctx, http.MethodPut, path, zip)
			return err
		})
		if err == nil {
			err = c.pin(ctx, path)
		}
	}
	if err != nil {
		return "", fmt.Errorf("making package %q available: %w", name, err)
	}
	return PackageURI(name), nil
}

// Upload makes zips available for a submission that follows immediately, and returns env with them
// as its working directory (nil for none) and modules.
func (c *Client) Upload(
	ctx context.Context, env RuntimeEnv, workingDir []byte, modules ...[]byte,
) (RuntimeEnv, error) {
	if workingDir != nil {
		uri, err := c.EnsurePackage(ctx, workingDir)
		if err != nil {
			return env, err
		}
		env.WorkingDir = uri
	}
	for _, module := range modules {
		uri, err := c.EnsurePackage(ctx, module)
		if err != nil {
			return env, err
		}
		env.PyModules = append(env.PyModules, uri)
	}
	return env, nil
}

// pin reads the package, which pins it; the reply is not used.
func (c *Client) pin(ctx context.Context, path string) error {
	return c.repeat(ctx, func() error {
		_, err := c.do(ctx, http.MethodGet, path, nil)
		return err
	})
}
