package nodeagent

import (
	"context"
	"fmt"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// imageService is the runtime's store of images. It keeps none: every container's image is resolved
// again, so that one which the registry has lost is missed at once.
type imageService struct {
	cri.UnimplementedImageServiceServer
	store ImageStore
}

// ListImages lists nothing.
func (s *imageService) ListImages(
	context.Context, *cri.ListImagesRequest,
) (*cri.ListImagesResponse, error) {
	return &cri.ListImagesResponse{}, nil
}

// ImageStatus says that the image is absent.
func (s *imageService) ImageStatus(
	context.Context, *cri.ImageStatusRequest,
) (*cri.ImageStatusResponse, error) {
	return &cri.ImageStatusResponse{}, nil
}

// PullImage resolves a reference to the digest of its image.
func (s *imageService) PullImage(
	ctx context.Context, request *cri.PullImageRequest,
) (*cri.PullImageResponse, error) {
	ref := request.GetImage().GetImage()
	image, err := s.store.Resolve(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("failed to pull and unpack image %q: %w", ref, err)
	}
	return &cri.PullImageResponse{ImageRef: image.ID}, nil
}

// RemoveImage has nothing to remove.
func (s *imageService) RemoveImage(
	context.Context, *cri.RemoveImageRequest,
) (*cri.RemoveImageResponse, error) {
	return &cri.RemoveImageResponse{}, nil
}

// ImageFsInfo describes an empty disk.
func (s *imageService) ImageFsInfo(
	context.Context, *cri.ImageFsInfoRequest,
) (*cri.ImageFsInfoResponse, error) {
	usage := []*cri.FilesystemUsage{{
		Timestamp: time.Now().UnixNano(), FsId: &cri.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes: &cri.UInt64Value{}, InodesUsed: &cri.UInt64Value{},
	}}
	return &cri.ImageFsInfoResponse{ImageFilesystems: usage, ContainerFilesystems: usage}, nil
}
