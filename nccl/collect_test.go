package nccl_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/text/encoding/unicode"
)

const oneLine = "node-1:12:34 [0] NCCL INFO Using network Socket\n"

func gzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(b)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}

func zstandard(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	require.NoError(t, err)
	_, err = z.Write(b)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}

func archive(t *testing.T, members map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, b := range members {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(b)), Typeflag: tar.TypeReg}))
		_, err := w.Write(b)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func utf16(t *testing.T, order unicode.Endianness, b []byte) []byte {
	t.Helper()
	out, err := unicode.UTF16(order, unicode.UseBOM).NewEncoder().Bytes(b)
	require.NoError(t, err)
	return out
}

// TestCollectUnpacks expects one plain log from every kind of packing, by
// content and not by name, from a file and from stdin.
func TestCollectUnpacks(t *testing.T) {
	t.Parallel()
	log := []byte(oneLine)
	tests := []struct {
		name string
		in   []byte
		want string
	}{
		{"plain", log, ""},
		{"gzip", gzipped(t, log), ""},
		{"zstd", zstandard(t, log), ""},
		{"UTF-16 of PowerShell", utf16(t, unicode.LittleEndian, log), ""},
		{"UTF-16, big-endian, in gzip", gzipped(t, utf16(t, unicode.BigEndian, log)), ""},
		{"gzip in zstd", zstandard(t, gzipped(t, log)), ""},
		{"tar", archive(t, map[string][]byte{"a/rank0.log": log}), ":a/rank0.log"},
		{"tar.gz", gzipped(t, archive(t, map[string][]byte{"rank0.log": log})), ":rank0.log"},
		{"tar.zst with a gzip", zstandard(t, archive(t, map[string][]byte{"rank0.log.gz": gzipped(t, log)})), ":rank0.log.gz"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "evidence")
			require.NoError(t, os.WriteFile(path, tt.in, 0o600))
			fromFile, err := nccl.Collect([]string{path}, nil)
			require.NoError(t, err)
			fromStdin, err := nccl.Collect([]string{"-"}, bytes.NewReader(tt.in))
			require.NoError(t, err)
			for name, sources := range map[string][]nccl.Source{path: fromFile, "-": fromStdin} {
				require.Len(t, sources, 1)
				assert.Equal(t, name+tt.want, sources[0].Name)
				r, err := sources[0].Open()
				require.NoError(t, err)
				got, err := io.ReadAll(r)
				require.NoError(t, err)
				require.NoError(t, r.Close())
				assert.Equal(t, oneLine, string(got))
			}
		})
	}
}

// TestCollectNamesEveryBadPath expects one error that names every path.
func TestCollectNamesEveryBadPath(t *testing.T) {
	t.Parallel()
	_, err := nccl.Collect([]string{"/none/a", "testdata", "/none/b"}, nil)
	require.ErrorContains(t, err, "/none/a")
	require.ErrorContains(t, err, "/none/b")
}

// TestCollectTakesStrayBytesForALog expects that two bytes of rubbish, which are
// UTF-16's mark, do not hide what follows.
func TestCollectTakesStrayBytesForALog(t *testing.T) {
	t.Parallel()
	sources, err := nccl.Collect([]string{"-"}, strings.NewReader("\xff\xfe"+oneLine))
	require.NoError(t, err)
	r, err := sources[0].Open()
	require.NoError(t, err)
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	assert.Equal(t, "\xff\xfe"+oneLine, string(got))
}

// TestCollectReadsArchivesInParallel expects every member whole, also when all are
// read at once and twice.
func TestCollectReadsArchivesInParallel(t *testing.T) {
	t.Parallel()
	in := map[string][]byte{}
	for i := range 40 {
		in[fmt.Sprintf("rank%d.log", i)] = bytes.Repeat(fmt.Appendf(nil, "line of rank %d\n", i), 1000*(i+1))
	}
	sources, err := nccl.Collect([]string{"-"}, bytes.NewReader(archive(t, in)))
	require.NoError(t, err)
	require.Len(t, sources, len(in))
	var group errgroup.Group
	for _, source := range slices.Concat(sources, sources) {
		group.Go(func() error {
			r, err := source.Open()
			if err != nil {
				return err
			}
			got, err := io.ReadAll(r)
			if want := in[strings.TrimPrefix(source.Name, "-:")]; !bytes.Equal(got, want) {
				return fmt.Errorf("%s: %d bytes, want %d", source.Name, len(got), len(want))
			}
			return errors.Join(err, r.Close())
		})
	}
	require.NoError(t, group.Wait())
}

// TestCollectReadsPipesOnce expects every byte of what can be read only once,
// as a shell's <(command) is: the bytes that show the format are not lost.
func TestCollectReadsPipesOnce(t *testing.T) {
	t.Parallel()
	for name, in := range map[string][]byte{"plain": []byte(oneLine), "gzip": gzipped(t, []byte(oneLine))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, w, err := os.Pipe()
			require.NoError(t, err)
			_, err = w.Write(in)
			require.NoError(t, err)
			require.NoError(t, w.Close())
			t.Cleanup(func() { require.NoError(t, r.Close()) })
			path := fmt.Sprintf("/dev/fd/%d", r.Fd())
			sources, err := nccl.Collect([]string{path}, nil)
			require.NoError(t, err)
			require.Len(t, sources, 1)
			assert.Equal(t, path, sources[0].Name)
			s, err := sources[0].Open()
			require.NoError(t, err)
			got, err := io.ReadAll(s)
			require.NoError(t, err)
			require.NoError(t, s.Close())
			assert.Equal(t, oneLine, string(got))
		})
	}
}

func TestCollectWalksFoldersOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "node-1"), 0o700))
	first, second := filepath.Join(dir, "node-1", "a.log"), filepath.Join(dir, "z.log")
	for _, p := range []string{first, second} {
		require.NoError(t, os.WriteFile(p, []byte(oneLine), 0o600))
	}
	sources, err := nccl.Collect([]string{dir, second, dir}, nil)
	require.NoError(t, err)
	require.Len(t, sources, 2)
	assert.Equal(t, []string{first, second}, []string{sources[0].Name, sources[1].Name})
}

// TestCollectRefuses checks that evidence that cannot be read in full is an error and never a
// verdict.
func TestCollectRefuses(t *testing.T) {
	t.Parallel()
	cut := gzipped(t, bytes.Repeat([]byte(oneLine), 1000))
	tests := []struct {
		name string
		in   []byte
	}{
		{"a gzip that ends early", cut[:len(cut)/2]},
		{"an archive that ends early", archive(t, map[string][]byte{"a": bytes.Repeat([]byte(oneLine), 100)})[:2000]},
		{"an archive in an archive", archive(t, map[string][]byte{"a.tar": archive(t, map[string][]byte{"b": []byte(oneLine)})})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "evidence")
			require.NoError(t, os.WriteFile(path, tt.in, 0o600))
			sources, err := nccl.Collect([]string{path}, nil)
			if err == nil {
				_, err = nccl.Judge(t.Context(), sources, nccl.Options{})
			}
			require.ErrorContains(t, err, "evidence")
		})
	}
	_, err := nccl.Collect([]string{filepath.Join(t.TempDir(), "absent")}, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = nccl.Collect([]string{t.TempDir()}, nil)
	require.ErrorContains(t, err, "no file")
}

// TestLargeFileEqualsStream judges one large file, whose blocks are parsed by several
// workers, and the same bytes as a stream: block borders must not matter, nor
// lines of many megabytes.
func TestLargeFileEqualsStream(t *testing.T) {
	t.Parallel()
	parts, err := filepath.Glob("testdata/nccl-logs/ofi-over-tcp/*.log")
	require.NoError(t, err)
	var log []byte
	for _, p := range parts {
		b, err := os.ReadFile(p)
		require.NoError(t, err)
		log = append(log, b...)
		log = append(log, bytes.Repeat([]byte("x "), 3<<20)...)
		log = append(log, '\n')
	}
	path := filepath.Join(t.TempDir(), "job.log")
	require.NoError(t, os.WriteFile(path, log, 0o600))
	sources, err := nccl.Collect([]string{path}, nil)
	require.NoError(t, err)
	parallel, err := nccl.Judge(t.Context(), sources, nccl.Options{})
	require.NoError(t, err)
	streamed, err := nccl.Judge(t.Context(), []nccl.Source{nccl.BytesSource(path, log)}, nccl.Options{})
	require.NoError(t, err)
	assert.Equal(t, streamed, parallel)
	assert.Equal(t, report.NotEFA, parallel.Verdict)
}

// TestFileCutWhileRead cuts a log after it was collected, as copytruncate does: an error, because its
// evidence is incomplete.
func TestFileCutWhileRead(t *testing.T) {
	t.Parallel()
	line := []byte("h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n")
	for _, size := range []int{1 << 20, 8 << 20} {
		for _, left := range []int{0, 1, 4096, size - 1} {
			path := filepath.Join(t.TempDir(), "job.log")
			require.NoError(t, os.WriteFile(path, bytes.Repeat(line, size/len(line)+1)[:size], 0o600))
			sources, err := nccl.Collect([]string{path}, nil)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, int64(left)))
			_, err = nccl.Judge(t.Context(), sources, nccl.Options{})
			require.ErrorContains(t, err, "became shorter", "%d of %d bytes left", left, size)
		}
	}
}

// TestManifestsTellHostsApart judges logs of two hosts of one name without Bootstrap lines.
func TestManifestsTellHostsApart(t *testing.T) {
	t.Parallel()
	proof, err := os.ReadFile("testdata/cases/04-efa-note-after-network.log")
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		addresses []string
		want      report.Verdict
	}{
		"two addresses": {[]string{"10.7.1.11", "10.7.1.12"}, report.EFA},
		"one address":   {[]string{"10.7.1.11", "10.7.1.11"}, report.Inconclusive},
		"no manifest":   {nil, report.Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for rank, host := range []string{"birch-1", "birch-2"} {
				var log strings.Builder
				for _, line := range strings.SplitAfter(string(proof), "\n") {
					if strings.HasPrefix(line, host) && !strings.Contains(line, "Bootstrap") {
						log.WriteString(strings.Replace(line, host, "birch", 1))
					}
				}
				require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("rank%d.log", rank)), []byte(log.String()), 0o600))
			}
			for rank, address := range tt.addresses {
				manifest := fmt.Sprintf(`{"rank": %d, "nodeIp": %q, "ncclFile": "rank%d.log"}`, rank, address, rank)
				require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("rank%d.json", rank)), []byte(manifest), 0o600))
			}
			sources, err := nccl.Collect([]string{folder}, nil)
			require.NoError(t, err)
			got, err := nccl.Judge(t.Context(), sources, nccl.Options{})
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.Verdict, codesOf(got))
		})
	}
}
