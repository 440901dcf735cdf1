// Makes a database on the server of the run and prints its name.

import { sharedServer } from './server.ts';

process.stdout.write(await (await sharedServer()).createDatabase());
