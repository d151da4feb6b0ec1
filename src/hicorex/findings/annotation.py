"""Results written into an AnnData object."""

from typing import TYPE_CHECKING, Any

import numpy as np

from hicorex.exceptions import HicorexError
from hicorex.support.annotated import is_annotated
from hicorex.support.names import factor_names, names_of

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator


def annotate(adata: Any, model: "LayeredEstimator", key: str = "hicorex") -> None:
    """Write what a model says of the observations and variables of an AnnData object into it.

    Parameters
    ----------
    adata : AnnData
        Observations for the model, such as those that it was fitted to by ``Corex().fit(adata)``.
    model : Corex or HierarchicalCorex
        Fitted to these variables.
    key : str, default="hicorex"
        What the names of the results begin with; what was there by these names is replaced.

    Notes
    -----
    ``adata.obsm[key]``, the most likely state of each factor, and ``adata.obsm[f"{key}_log_z"]``, log Z of each, are
    frames of shape (n_obs, n_factors of all layers). ``adata.varm[f"{key}_alpha"]`` and
    ``adata.varm[f"{key}_information"]``, I(Y_j:X_i) in nats, are frames of shape (n_vars, n_factors of layer 1).
    ``adata.uns[key]`` has the names of the factors, what each explains, ``tcs``, in nats, and the number of each layer.

    Examples
    --------
    >>> import anndata, hicorex
    >>> from hicorex.datasets import make_latent_tree
    >>> X, _ = make_latent_tree(200, 12, 2, random_state=0)
    >>> adata = anndata.AnnData(X.astype("float32"))
    >>> hicorex.annotate(adata, hicorex.Corex(2, n_states=2, n_init=1, random_state=0).fit(adata))
    >>> adata.obsm["hicorex"].shape, adata.varm["hicorex_alpha"].shape
    ((200, 2), (12, 2))
    """
    import pandas as pd

    if not is_annotated(adata):
        raise HicorexError(f"annotate writes into an AnnData object, not {type(adata).__name__}; give one.")
    layer = model.fitted_.layers[0]
    if len(layer.alpha) != adata.n_vars:
        raise HicorexError(
            f"The model knows {len(layer.alpha)} variables, and adata has {adata.n_vars}; give those of its fit."
        )
    states, log_z = model.states_and_log_z(adata)[:2]
    names, of_layer = factor_names(model), names_of(model)[1]
    layers = model.fitted_.layers
    results = {
        "factors": np.array(names, dtype=object),
        "layer": np.concatenate([np.full(own.n_factors, k) for k, own in enumerate(layers, start=1)]),
        "tcs": np.concatenate([own.tcs for own in layers]),
    }
    adata.obsm[key] = pd.DataFrame(np.asarray(states), index=adata.obs_names, columns=names)
    adata.obsm[f"{key}_log_z"] = pd.DataFrame(np.asarray(log_z), index=adata.obs_names, columns=names)
    adata.varm[f"{key}_alpha"] = pd.DataFrame(layer.alpha, index=adata.var_names, columns=of_layer)
    adata.varm[f"{key}_information"] = pd.DataFrame(layer.mutual_information, index=adata.var_names, columns=of_layer)
    adata.uns[key] = results
