// Starts Debian's jest, by Debian's node or another one: where node says nothing of Debian's module
// folders, they are named for it.
'use strict';
if (process.config.variables.node_relative_path === undefined) {
  const variables = { ...process.config.variables, node_prefix: '/usr',
    node_relative_path: 'share/nodejs' };
  Object.defineProperty(process, 'config', { value: { ...process.config, variables } });
}
require('/usr/share/nodejs/jest-cli').run();
