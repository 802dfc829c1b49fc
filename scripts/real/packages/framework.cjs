const load = async (name) => require(name);

async function main() {
  const { useFramework } = await import('./framework.mjs');
  await useFramework(process.argv[2], load);
}
main().catch((error) => {
  console.error(error);
  process.exit(1);
});
