"""A model for which bright pictures lie nearest to every caption."""

import numpy as np


class Brightness:
    """Vectors of brightness; ``share`` is how much of it the model sees, the rest is noise of the picture."""

    version = "1"
    logit_scale = 100.0
    share = 1.0

    def embed_images(self, images):
        """Brightness and a constant."""
        bright = np.array([image.mean() / 255 for image in images])
        noise = np.array([image[0, 0, 0] % 13 / 13 for image in images])
        return np.stack([self.share * bright + (1 - self.share) * noise, np.full(len(images), 0.5)], 1)

    def embed_texts(self, texts):
        """Every caption asks for brightness."""
        return np.tile([1.0, 0.0], (len(texts), 1))


class Dim(Brightness):
    """Sees less of it."""

    share = 0.0
