"""verl 0.9.1: four ways in, cheapest for the operator first; docs/verl.md has them with examples.

(d) pip install, then   reward.sandbox_fusion.url=verifier://HOST:PORT
                        or reward.reward_manager.name=verifier        `plugin`
(b) reward.custom_reward_function.path=pkg://verifier.integrations.verl.reward_fn   `reward_fn`
(c) reward.reward_manager.source=importlib, name=NaiveRewardManager,
    module.path=pkg://verifier.integrations.verl.managers             `managers`
(a) reward.sandbox_fusion.url=http://HOST:PORT/run_code               the gateway's HTTP side
"""
