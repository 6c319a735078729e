package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/imagepin"
)

func newImageCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "image",
		Short: "Choose the container image that the stack runs",
		Long: `Choose the container image that the Ray head and the workers run. The stack refers
to it by digest, so that every node runs the same one.`,
	}
	command.AddCommand(newImagePinCommand())
	return command
}

const imagePinHelp = `Resolve an image's tag to its digest and write the digest into the stack's settings.
The Ray head and the workers run exactly that image until the next pin. A tag can
be moved to another image; a digest cannot.

Steps:
  1. Read the repository: --repository, else the stack's imageRepository, else the
     default in Pulumi.yaml.
  2. Ask the registry for the digest of TAG (default ` + imagepin.DefaultTag + `).
  3. Write ray-train-efa:imageDigest into Pulumi.STACK.yaml. With --repository,
     also write ray-train-efa:imageRepository. Nothing else in the file changes.

Exit status: 0 when the digest is in the file, 1 on any error.`

func newImagePinCommand() *cobra.Command {
	request := imagepin.Request{}
	command := &cobra.Command{
		Use:   "pin [TAG]",
		Short: "Resolve a tag and write its digest into the stack's settings",
		Long:  imagePinHelp,
		Example: `  raytrain image pin
  raytrain image pin ` + imagepin.DefaultTag + ` --stack prod
  raytrain image pin --repository 123456789012.dkr.ecr.us-east-2.amazonaws.com/ray --tag v7`,
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) == 1 {
				if command.Flags().Changed("tag") {
					return errors.New(
						"pinning the image: TAG and --tag are both set; use one")
				}
				request.Tag = args[0]
			}
			pinned, err := imagepin.Pin(command.Context(), request)
			if err != nil {
				return fmt.Errorf("pinning the image: %w", err)
			}
			verb := "written to"
			if !pinned.Changed {
				verb = "already in"
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "%s:%s is %s, %s %s\n",
				pinned.Repository, pinned.Tag, pinned.Digest, verb, pinned.File)
			return err
		},
	}
	flags := command.Flags()
	flags.StringVar(&request.Project, "project", ".", "folder of Pulumi.yaml")
	flags.StringVarP(&request.Stack, "stack", "s", "dev", "stack whose settings to write")
	flags.StringVar(&request.Repository, "repository", "",
		"repository of the image, without a tag; it is written to the settings as well")
	flags.StringVar(&request.Tag, "tag", imagepin.DefaultTag, "tag to resolve (same as the argument TAG)")
	return command
}
