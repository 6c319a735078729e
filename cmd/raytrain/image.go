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
		Short: "Choose the image that head and workers run",
	}
	command.AddCommand(newImagePinCommand())
	return command
}

const imagePinHelp = `Ask the registry which digest a tag has now, and write it into the stack's
settings as ray-train-efa:imageDigest. Head and workers then run exactly that
image until the next pin: a tag may move, a digest cannot.

Without a tag, ` + imagepin.DefaultTag + ` is pinned. The repository is --repository, or else
the stack's imageRepository, or else the default in Pulumi.yaml.`

func newImagePinCommand() *cobra.Command {
	request := imagepin.Request{}
	command := &cobra.Command{
		Use:   "pin [TAG]",
		Short: "Resolve a tag once and write its digest into the stack's settings",
		Long:  imagePinHelp,
		Example: `  raytrain image pin
  raytrain image pin ` + imagepin.DefaultTag + ` --stack prod
  raytrain image pin --repository 123456789012.dkr.ecr.us-east-2.amazonaws.com/ray --tag v7`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) == 1 {
				if command.Flags().Changed("tag") {
					return errors.New("pinning the image: the tag is given twice, as an argument and with --tag: drop one")
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
	flags.StringVar(&request.Project, "project", ".", "folder with Pulumi.yaml")
	flags.StringVarP(&request.Stack, "stack", "s", "dev", "stack whose settings are written")
	flags.StringVar(&request.Repository, "repository", "", "image without tag; written to the stack's settings too")
	flags.StringVar(&request.Tag, "tag", imagepin.DefaultTag, "tag to resolve, instead of the argument")
	return command
}
